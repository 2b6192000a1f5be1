"""The server, and its first page: the whole way of a prompt at a glance."""

import streamlit as st

if __name__ == "app":  # imported by the server, which then runs this file again as the page
    from explorer.ui.server import ROUTES, lifespan

    app = st.App(__file__, lifespan=lifespan, routes=ROUTES)
else:
    from explorer.analysis.residual_stream import STREAM_NORMS, stream_norms
    from explorer.analysis.sampling import NEXT_TOKEN, candidates, drawn, sampled
    from explorer.figures.residual_stream import stream_norm_lines
    from explorer.figures.sampling import candidate_bars
    from explorer.ui.chart import chart
    from explorer.ui.navigation import page_link
    from explorer.ui.page import open_page

    page = open_page("overview")
    run = page.run(taps=NEXT_TOKEN, norms=STREAM_NORMS)
    distribution = sampled(run.trace, **page.view.sampler)
    _, drawn_id = drawn(distribution, page.view.seed, page.view.draw)
    table = candidates(run.trace, distribution, page.tokenizer.label, drawn_id, count=8)

    stream, sampler = st.columns(2, gap="large")
    with stream:
        page_link("residual_stream", page.view, "The vectors grow through the layers")
        chart(
            stream_norm_lines(stream_norms(run.trace), run.labels, run.selected, height=300),
            name="overview-stream",
            summary="The length of every token's vector through the layers.",
        )
    with sampler:
        page_link("sampling", page.view, "The last vector scores every next token")
        chart(
            candidate_bars(table, tail_mass=distribution.tail_mass, compact=True),
            name="overview-next-token",
            summary=f"The likeliest next token is {table['token'][0]} with probability {table['p'][0]:.1%}.",
        )
