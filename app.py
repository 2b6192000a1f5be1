"""The server, and its first page: the whole way of a prompt at a glance."""

import streamlit as st

if __name__ == "app":  # imported by the server, which then runs this file again as the page
    from explorer.ui.server import ROUTES, lifespan

    app = st.App(__file__, lifespan=lifespan, routes=ROUTES)
else:
    from explorer.analysis.overview import OVERVIEW_NORMS, OVERVIEW_TAPS, token_rows
    from explorer.analysis.sampling import candidates, drawn, sampled
    from explorer.ui.overview import draw_flow, next_token_button
    from explorer.ui.page import open_page

    page = open_page("overview")
    run = page.run(taps=OVERVIEW_TAPS, norms=OVERVIEW_NORMS)
    distribution = sampled(run.trace, **page.view.sampler)
    u, drawn_id = drawn(distribution, page.view.seed, page.view.draw)
    likeliest = candidates(run.trace, distribution, page.tokenizer.label, drawn_id, count=6)
    draw_flow(page, run, token_rows(run.trace), likeliest, u)
    next_token_button(page, run, page.tokenizer.token(drawn_id))
