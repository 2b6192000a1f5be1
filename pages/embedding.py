"""Which vector each token starts with, and what lies near it in the table."""

import streamlit as st

from explorer.analysis import embedding
from explorer.figures.embedding import neighbour_bars
from explorer.ui import state
from explorer.ui.chart import chart, numbers
from explorer.ui.components import Fact, fact_list
from explorer.ui.details import details
from explorer.ui.embedding_controls import chosen_terms, dimension_controls, term_controls
from explorer.ui.kept import kept
from explorer.ui.page import open_page
from explorer.ui.strip_component import strip
from explorer.ui.vector_table import vector_table

MOST, COLUMNS, STRIPS, ANGLES, NEAREST = 2048, 48, 24, 64, 15
LOADED = """from explorer.analysis import embedding
from explorer.cli.session import Session

session = Session({model!r})
print(session.info.source)
encoding = session.tokenizer.encode({prompt!r}, special={special}, bos={with_bos})
part = slice({base}, {last})
ids, labels = encoding.ids[part], [token.label for token in encoding.tokens[part]]
rows = session.engine.parameter(session.model, "embedding.weight", ids)
"""
TABLE = LOADED + "print(embedding.row_table(rows, ids, labels, range({first}, {end}), part.start))"
PRODUCT = (
    LOADED
    + """product = session.engine.one_hot_product(session.model, ids[{token}])
print(embedding.value_table(rows[{token}]))
print("largest difference", (product - rows[{token}]).abs().max().item())"""
)
COSINES = (
    LOADED
    + """shown = slice({start}, {stop})
print(embedding.cosine_table(embedding.cosines(rows[shown]), labels[shown], part.start + shown.start))"""
)
NEIGHBOURS = (
    LOADED
    + """nearest = session.engine.nearest(session.model, rows[{token}][None], count={count})
print(embedding.neighbour_table(nearest, session.tokenizer.label))"""
)
SUM = (
    LOADED
    + """abc = session.engine.parameter(session.model, "embedding.weight", {terms})
nearest = session.engine.nearest(session.model, embedding.combined(abc), count={count})
print(embedding.neighbour_table(nearest, session.tokenizer.label))"""
)

page = open_page("embedding")
config = page.blueprint.config
view = state.fit(first_dimension=config.d_model - 1)
page.wait_for_model()
if not page.encoding.ids:
    st.caption("The text holds no token, so there is no row to show. Type at least one character.")
    st.stop()
part = embedding.around(len(page.encoding), page.selected, MOST)  # everything below counts from its first token
base, token = part.start, page.selected - part.start
ids, labels = page.encoding.ids[part], [each.label for each in page.encoding.tokens[part]]
names = [f"{base + place} {label}" for place, label in enumerate(labels)]
vectors = page.parameter("embedding.weight", ids)
written = {"with_bos": view.with_bos, "base": base, "last": part.stop, "token": token}
if len(page.encoding) > MOST:
    st.caption(f"Tokens {base:,} to {part.stop - 1:,} of {len(page.encoding):,} are read, around the chosen one.")
row = vectors[token]
own = kept(("nearest", view.model, ids[token]), lambda: page.nearest(vectors[[token]], count=NEAREST + 1))
lengths = vectors.norm(dim=-1).tolist()
table_shape = f"{config.vocab_size:,} × {config.d_model:,}"

st.subheader("The rows of your tokens", anchor=False)
seen = embedding.around(len(ids), token, COLUMNS)
dimensions = range(view.first_dimension, min(view.first_dimension + view.n_dimensions, config.d_model))
vector_table(
    labels[seen], ids[seen],
    [(str(each), vectors[seen, each].tolist()) for each in dimensions], lengths[seen],
    first=base + seen.start, selected=token - seen.start, d_model=config.d_model, key="values",
    on_pick=lambda place: state.go(token=place),
)  # fmt: skip
dimension_controls(config.d_model)
strips = embedding.around(len(ids), token, STRIPS)
strip(
    vectors[strips].numpy(), name="All dimensions of the tokens' rows", key="rows", scale="root",
    rows=names[strips],
    selected=(token - strips.start, view.first_dimension), hint="Move over a cell, or click it.",
    on_pick=lambda line, column: state.go(token=base + strips.start + line, first_dimension=column),
)  # fmt: skip
st.caption(
    f"All {config.d_model:,} dimensions of each row, one line a token; colours grow with the square root. Nobody gave "
    "a dimension its meaning."
    + (f" Tokens {base + strips.start} to {base + strips.stop - 1} are drawn." if len(ids) > STRIPS else "")
)
numbers(
    embedding.row_table(vectors, ids, labels, dimensions, base), name="embedding-rows",
    snippet=page.snippet(TABLE, **written, first=dimensions.start, end=dimensions.stop),
)  # fmt: skip

st.subheader("A look-up is a product with a one-hot vector", anchor=False)
difference = (page.one_hot_product(ids[token]) - row).abs().max().item()
fact_list(
    [
        Fact(name="One-hot vector", value=f"1 at {ids[token]:,}, else 0", note=f"{config.vocab_size:,} numbers"),
        Fact(name="× embedding matrix", value=table_shape, note=f"{config.vocab_size * config.d_model:,} numbers"),
        Fact(name="= row of", value=labels[token], literal=True, note=f"{config.d_model:,} numbers"),
        Fact(
            name="Product − row", value=f"± {difference:.0e}" if difference else "exactly 0",
            note="multiplied out just now",
        ),
        Fact(
            name="Length of the row", value=f"{lengths[token]:.4f}",
            note=f"longer than {own.shorter[0].item():.1%} of the {own.n_rows:,} rows",
        ),
        Fact(
            name="The table", value="tied" if config.tied_embedding else "not tied",
            note="it also scores the next token" if config.tied_embedding else "the way out has a table of its own",
        ),
    ],
    key="product",
    tile=170,
)  # fmt: skip
st.caption(
    f"The product would cost {2 * config.vocab_size * config.d_model:,} operations a token; the look-up costs none. "
    "That is why an embedding is never multiplied out."
)
numbers(embedding.value_table(row), name="embedding-row", snippet=page.snippet(PRODUCT, **written))

st.subheader("Angles between your tokens", anchor=False)
angles = embedding.around(len(ids), token, ANGLES)
matrix = embedding.cosines(vectors[angles])
strip(
    matrix, name="Cosine of every two tokens of the text", key="cosines", rows=names[angles], columns=names[angles],
    column="with", limit=1.0, height=22 if len(matrix) <= 24 else 12, selected=(token - angles.start, -1),
    marks=[(place, labels[angles][place]) for place in (token - angles.start, *range(len(matrix)))],
    hint="Move over a cell, or click it.", on_pick=lambda line, _: state.go(token=base + angles.start + line),
)  # fmt: skip
st.caption(
    "The cosine is 1 for the same direction, 0 for a right angle, −1 for opposite directions. Here no token knows its "
    "neighbours yet: the same token has the same row wherever it stands."
    + (f" Tokens {base + angles.start} to {base + angles.stop - 1} are drawn." if len(ids) > ANGLES else "")
)
numbers(
    embedding.cosine_table(matrix, labels[angles], base + angles.start), name="cosines",
    snippet=page.snippet(COSINES, **written, start=angles.start, stop=angles.stop),
)  # fmt: skip

st.subheader("Nearest in the whole vocabulary", anchor=False)
neighbours = embedding.neighbour_table(own, page.tokenizer.label)
chart(
    neighbour_bars(neighbours, {ids[token]}),
    name="nearest",
    summary=f"The rows with the most similar direction to {labels[token]}: {', '.join(neighbours['token'][1:6])}.",
)
st.caption(f"All {own.n_rows:,} rows were compared, by the cosine of the angle. The token itself is at the top.")
numbers(neighbours, name="nearest", snippet=page.snippet(NEIGHBOURS, **written, count=NEAREST + 1))

st.subheader("a − b + c", anchor=False)
term_controls()
terms = chosen_terms(page.tokenizer, (view.term_a, view.term_b, view.term_c))
if terms is not None:
    combined = kept(
        ("sum", view.model, terms),
        lambda: page.nearest(embedding.combined(page.parameter("embedding.weight", terms)), count=NEAREST),
    )
    found = embedding.neighbour_table(combined, page.tokenizer.label)
    a, b, c = (page.tokenizer.label(each) for each in terms)
    chart(
        neighbour_bars(found, set(terms)),
        name="sum",
        summary=f"Nearest to {a} − {b} + {c}: {', '.join(found['token'][:5])}.",
    )
    st.caption(
        "The three given tokens stay in the list, in grey: often one of them is nearest, and leaving them out, as is "
        "usual, makes such sums look better than they are."
    )
    numbers(found, name="sum", snippet=page.snippet(SUM, **written, terms=terms, count=NEAREST))
details(
    page.blueprint,
    n_tokens=len(page.encoding),
    subject="embedding",
    formula=r"""
x_t = e_{\text{id}_t} E = E_{\text{id}_t} \qquad E \in \mathbb{R}^{\text{vocabulary} \times d_{\text{model}}}
""",
    taps=("tap.embedded",),
    code="explorer.model.embedding.TokenEmbedding",
)
