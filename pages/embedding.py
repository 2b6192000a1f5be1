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

COLUMNS, STRIPS, ANGLES, NEAREST = 48, 24, 64, 15
LOADED = """from explorer.analysis import embedding
from explorer.cli.session import Session

session = Session({model!r})
print(session.info.source)
encoding = session.tokenizer.encode({prompt!r}, special={special}, bos={with_bos})
ids, labels = encoding.ids, [token.label for token in encoding.tokens]
rows = session.engine.parameter(session.model, "embedding.weight", ids)
"""
TABLE = LOADED + "print(embedding.row_table(rows, ids, labels, range({first}, {end})))"
PRODUCT = LOADED + """product = session.engine.one_hot_product(session.model, ids[{token}])
print(embedding.value_table(rows[{token}]))
print("largest difference", (product - rows[{token}]).abs().max().item())"""
COSINES = LOADED + """part = slice({start}, {stop})
print(embedding.cosine_table(embedding.cosines(rows[part]), labels[part], part.start))"""
NEIGHBOURS = LOADED + """nearest = session.engine.nearest(session.model, rows[{token}][None], count={count})
print(embedding.neighbour_table(nearest, session.tokenizer.label))"""
SUM = LOADED + """abc = session.engine.parameter(session.model, "embedding.weight", {terms})
nearest = session.engine.nearest(session.model, embedding.combined(abc), count={count})
print(embedding.neighbour_table(nearest, session.tokenizer.label))"""

page = open_page("embedding")
config, ids = page.blueprint.config, page.encoding.ids
view = state.fit(first_dimension=config.d_model - 1)
vectors = page.trace(ids, taps=embedding.EMBEDDED)["tap.embedded"]
labels = [token.label for token in page.encoding.tokens]
token = page.selected
row = vectors[token]
own = kept(("nearest", view.model, ids[token]), lambda: page.nearest(row[None], count=NEAREST + 1))
lengths = vectors.norm(dim=-1).tolist()
table_shape = f"{config.vocab_size:,} × {config.d_model:,}"

st.subheader("The rows of your tokens", anchor=False)
seen = embedding.around(len(ids), token, COLUMNS)
dimensions = range(view.first_dimension, min(view.first_dimension + view.n_dimensions, config.d_model))
vector_table(
    labels[seen], ids[seen],
    [(str(each), vectors[seen, each].tolist()) for each in dimensions], lengths[seen],
    first=seen.start, selected=token - seen.start, d_model=config.d_model, key="values",
    on_pick=lambda place: state.go(token=place),
)  # fmt: skip
dimension_controls(config.d_model)
strips = embedding.around(len(ids), token, STRIPS)
strip(
    vectors[strips].numpy(), name="All dimensions of the tokens' rows", key="rows", scale="root",
    rows=[f"{place} {labels[place]}" for place in range(strips.start, strips.stop)],
    selected=(token - strips.start, view.first_dimension), hint="Move over a cell, or click it.",
    on_pick=lambda line, column: state.go(token=strips.start + line, first_dimension=column),
)  # fmt: skip
st.caption(
    f"All {config.d_model:,} dimensions of each row, one line a token; colours grow with the square root. Nobody gave "
    "a dimension its meaning."
    + (f" Tokens {strips.start} to {strips.stop - 1} are drawn." if len(ids) > STRIPS else "")
)
numbers(
    embedding.row_table(vectors, ids, labels, dimensions), name="embedding-rows",
    snippet=page.snippet(TABLE, with_bos=view.with_bos, first=dimensions.start, end=dimensions.stop),
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
numbers(
    embedding.value_table(row), name="embedding-row", snippet=page.snippet(PRODUCT, with_bos=view.with_bos, token=token)
)

st.subheader("Angles between your tokens", anchor=False)
angles = embedding.around(len(ids), token, ANGLES)
matrix = embedding.cosines(vectors[angles])
names = [f"{place} {labels[place]}" for place in range(angles.start, angles.stop)]
strip(
    matrix, name="Cosine of every two tokens of the text", key="cosines", rows=names, columns=names, column="with",
    marks=[(place, labels[angles.start + place]) for place in (token - angles.start, *range(len(names)))],
    limit=1.0, height=22 if len(names) <= 24 else 12, selected=(token - angles.start, -1),
    hint="Move over a cell, or click it.", on_pick=lambda line, _: state.go(token=angles.start + line),
)  # fmt: skip
st.caption(
    "The cosine is 1 for the same direction, 0 for a right angle, −1 for opposite directions. Here no token knows its "
    "neighbours yet: the same token has the same row wherever it stands."
    + (f" Tokens {angles.start} to {angles.stop - 1} are drawn." if len(ids) > ANGLES else "")
)
numbers(
    embedding.cosine_table(matrix, labels[angles], angles.start), name="cosines",
    snippet=page.snippet(COSINES, with_bos=view.with_bos, start=angles.start, stop=angles.stop),
)  # fmt: skip

st.subheader("Nearest in the whole vocabulary", anchor=False)
neighbours = embedding.neighbour_table(own, page.tokenizer.label)
chart(
    neighbour_bars(neighbours, {ids[token]}),
    name="nearest",
    summary=f"The rows with the most similar direction to {labels[token]}: {', '.join(neighbours['token'][1:6])}.",
)
st.caption(f"All {own.n_rows:,} rows were compared, by the cosine of the angle. The token itself is at the top.")
numbers(
    neighbours, name="nearest",
    snippet=page.snippet(NEIGHBOURS, with_bos=view.with_bos, token=token, count=NEAREST + 1),
)  # fmt: skip

st.subheader("a − b + c", anchor=False)
term_controls()
terms = chosen_terms(page.tokenizer, (view.term_a, view.term_b, view.term_c))
if terms is not None:
    combined = kept(
        ("sum", view.model, terms),
        lambda: page.nearest(embedding.combined(page.parameter("embedding.weight", terms)), count=NEAREST),
    )
    found = embedding.neighbour_table(combined, page.tokenizer.label)
    best = next((each for each in found.itertuples() if each.id not in terms), None)
    written = " {} ".join(page.tokenizer.label(each) for each in terms).format("−", "+")
    chart(
        neighbour_bars(found, set(terms)),
        name="sum",
        summary=f"Nearest to {written}: {', '.join(found['token'][:5])}.",
    )
    st.caption(
        "The three given tokens stay in the list, in grey: often one of them is nearest, and leaving them out, as is "
        "usual, makes such sums look better than they are."
    )
    numbers(found, name="sum", snippet=page.snippet(SUM, with_bos=view.with_bos, terms=terms, count=NEAREST))
details(
    page.blueprint,
    n_tokens=len(ids),
    subject="embedding",
    formula=r"""
x_t = e_{\text{id}_t} E = E_{\text{id}_t} \qquad E \in \mathbb{R}^{\text{vocabulary} \times d_{\text{model}}}
""",
    taps=("tap.embedded",),
    code="explorer.model.embedding.TokenEmbedding",
)
