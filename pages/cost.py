"""What a model costs: parameters, operations, memory and time, counted from its sizes."""

import streamlit as st

from explorer.analysis.cost import (
    bytes_of_weights,
    cache_table,
    crossover,
    matrix_table,
    model_table,
    operation_table,
    share_table,
    steps_of_work,
    time_table,
)
from explorer.analysis.cost_claims import claims
from explorer.figures.cost import cache_lines, operation_lines, roofline, share_bars
from explorer.ui.chart import chart, numbers
from explorer.ui.cost_controls import choose_accelerator, choose_counted, compared, other_block
from explorer.ui.cost_facts import cache_facts, operation_facts, parameter_facts, summary_facts, time_facts
from explorer.ui.cost_tables import claim_list, details_of_counting, matrices, side_by_side
from explorer.ui.page import open_page

page = open_page("cost", strip=False)
counted = choose_counted(page)
view, sizes, n_tokens = page.view, counted.sizes, len(page.encoding)
context, precision = view.at_context, view.precision
summary_facts(counted, context, precision)


def parameters() -> None:
    """Which tensors the parameters are, and who has how many of them."""
    st.subheader("Where the parameters are", anchor=False)
    shares = share_table(sizes, context, other_block(counted))
    spoken = ", ".join(f"{row.part} {row.share:.1%}" for row in shares.itertuples() if row.of == "All parameters")
    chart(share_bars(shares), name="shares", summary=f"Of all parameters: {spoken}.")
    table = matrix_table(sizes)
    matrices(table)
    parameter_facts(counted)
    numbers(table, name="tensors", snippet=counted.snippet("matrix_table(sizes)"))


def operations() -> None:
    """What a token costs the longer the context is."""
    st.subheader("Operations of a token, by context", anchor=False)
    table, equal = operation_table(sizes, context), crossover(sizes)
    summary = (
        f"Attention costs as much as all matrices from {equal:,} tokens on." if equal else "Attention stays below."
    )
    chart(operation_lines(table, at=context, crossover=equal), name="operations", summary=summary)
    st.caption(
        "Matrices cost the same wherever a token stands. Attention grows with what there is to read: the newest token "
        "reads everything, the tokens of a prompt half of it on average. A kernel that computes the masked half "
        "too pays the upper line for every token."
    )
    operation_facts(sizes, context, n_tokens)
    numbers(table, name="operations-by-context", snippet=counted.snippet(f"operation_table(sizes, {context})"))


def cache() -> None:
    """What has to be kept of the tokens that were read."""
    st.subheader("The cache, by context", anchor=False)
    table, stored = cache_table(sizes, context), bytes_of_weights(sizes, precision)
    figure = cache_lines(table, at=context, heads=(sizes.n_heads, sizes.n_kv_heads), weights=stored)
    row = table[table["context"] == context].iloc[0]
    summary = f"At {context:,} tokens {row.own:,} bytes; {row.mha:,} without sharing key/value heads."
    chart(figure, name="cache", summary=summary)
    st.caption(
        "Fewer key/value heads shrink the cache in proportion, and nothing else by much: every query head still makes "
        "its own scores. 1 GiB is 2³⁰ bytes, 1 GB is 10⁹; both are given."
    )
    cache_facts(sizes, context)
    numbers(table, name="cache-by-context", snippet=counted.snippet(f"cache_table(sizes, {context})"))


def least_times() -> None:
    """What a machine's memory and arithmetic allow at best."""
    st.subheader("The least time that it can take", anchor=False)
    machine = choose_accelerator()
    works = steps_of_work(sizes, context=context, batch=view.batch, n_tokens=n_tokens, precision=precision)
    table = time_table(works, machine)
    figure = roofline(table, bandwidth=machine.bandwidth, compute=machine.compute)
    spoken = " ".join(f"{row.work}: bound by {row.bound}." for row in table.itertuples())
    chart(figure, name="roofline", summary=f"Below the ridge memory decides, above it arithmetic. {spoken}")
    st.caption(
        "A step must move its bytes and do its operations. Left of the ridge it waits for memory, right of it for "
        "arithmetic; real programs stay below the line. Prefill reads a whole prompt with one pass over the weights, "
        "decoding needs a pass for every token."
    )
    time_facts(table.to_dict("records"), sizes, machine, context=context, batch=view.batch, precision=precision)
    call = f"time_table(steps_of_work(sizes, context={context}, batch={view.batch}, n_tokens={n_tokens}, "
    call += f"precision={precision!r}), machine)"
    made = (
        f"machine = Accelerator(name='', bandwidth={machine.bandwidth}, compute={machine.compute}, memory=0, source='')"
    )
    numbers(table, name="least-times", snippet=counted.snippet(call, made))


def models() -> None:
    """All known models in one table."""
    st.subheader("Beside other models", anchor=False)
    table = model_table(compared(counted), counted.id, context, precision)
    side_by_side(table)
    call = f"model_table({{'this': sizes}}, 'this', {context}, {precision!r})"
    numbers(table, name="models", snippet=counted.snippet(call))


parameters()
operations()
cache()
least_times()
models()
st.subheader("What people say", anchor=False)
claim_list([(claim.says, claim.number, claim.because) for claim in claims(sizes, context, precision)])
details_of_counting()
