"""How a text is cut into the pieces that the model knows."""

import streamlit as st

from explorer.analysis import merges
from explorer.analysis.languages import REFERENCE, article_1
from explorer.analysis.tokens import language_counts, token_table, vocabulary_counts
from explorer.figures.theme import EMBEDDING
from explorer.figures.tokens import count_bars
from explorer.ui import state
from explorer.ui.chart import chart, numbers
from explorer.ui.components import Fact, fact_list, piece_strip, token_strip
from explorer.ui.controls import vocabulary_controls
from explorer.ui.details import details
from explorer.ui.long_text import long_text
from explorer.ui.merge_component import merge_controls, merge_parts
from explorer.ui.page import open_page
from explorer.ui.score_table import Column, Row, score_table
from explorer.ui.state import bound
from explorer.ui.token_facts import looked_up, token_facts
from explorer.ui.view import MAX_CHARACTERS
from explorer.ui.vocabularies import await_rest, readers, vocabulary_names

READ = """from explorer.cli.session import tokenizer_named

tokenizer = tokenizer_named({vocabulary!r}, model={model!r})
encoding = tokenizer.encode({prompt!r}, special={special}, bos={with_bos})
"""
TOKENS = (
    READ
    + """from explorer.analysis.tokens import token_table

print(token_table(encoding.tokens))"""
)
COUNTS = """from explorer.analysis.tokens import vocabulary_counts
from explorer.cli.session import tokenizer_named

text = {prompt!r}
tokenizers = {{name: tokenizer_named(name, model={model!r}) for name in ("own", "llama3", "cl100k_base", "o200k_base")}}
encodings = {{name: each.encode(text, special={special}, bos={with_bos}) for name, each in tokenizers.items()}}
print(vocabulary_counts(text, encodings))"""
MERGES = (
    READ
    + """from explorer.analysis.merges import piece_table, step_table

print(piece_table(encoding))
print(step_table(tokenizer.merge_steps({piece!r})))"""
)
LANGUAGES = """from explorer.analysis.languages import article_1
from explorer.analysis.tokens import language_counts
from explorer.cli.session import tokenizer_named

tokenizers = {{name: tokenizer_named(name, model={model!r}) for name in ("own", "llama3", "cl100k_base", "o200k_base")}}
print(language_counts(article_1(), tokenizers))"""


@st.fragment  # a step draws nothing else again
def show_moments(piece: str, replay: merges.Replay) -> None:
    """The parts of a piece after the chosen number of merges, and the way to the others."""
    if replay.steps is None:
        st.caption(replay.words)
        return
    taken = min(state.current().step, len(replay.steps))
    merge_controls(taken, len(replay.steps))
    now = merges.moment(tokenizer, piece, replay.steps, taken)
    merge_parts(
        now.labels, now.ids, now.ranks, made=now.made, next_left=now.next,
        sentence=merges.sentence(replay.steps, taken), key="merge",
    )  # fmt: skip
    st.caption(
        "Under each part its id. Between two parts the rank at which they may join, a dot if they may not: the lowest "
        "rank joins first, the leftmost among equals."
    )


page = open_page("tokenizer", strip=False)
view, own_name = page.view, page.blueprint.config.name
st.caption(f"A link carries up to {MAX_CHARACTERS:,} characters. A longer text can be counted further down.")
picture = st.container()
vocabulary_controls(own_name)
with picture:
    tokenizer = page.reader(view.vocabulary)
    encoding = page.read_as(tokenizer)
    count, place = len(encoding), view.place(len(encoding))
    n_bytes = len(view.prompt.encode())
    token_strip(encoding.tokens, selected=place, coloured=True, on_pick=lambda at: state.go(token=at, step=0))
    for note in encoding.notes:
        st.text(note)
    fact_list(
        [
            Fact(name="Tokens", value=f"{count:,}"),
            Fact(name="Characters", value=f"{len(view.prompt):,}"),
            Fact(name="Bytes in UTF-8", value=f"{n_bytes:,}"),
            Fact(name="Characters per token", value=f"{len(view.prompt) / count:.2f}" if count else "–"),
            Fact(name="Bytes per token", value=f"{n_bytes / count:.2f}" if count else "–"),
        ],
        key="counts",
        tile=120,
    )
    if count:
        token_facts(encoding.tokens, place)
    numbers(token_table(encoding.tokens), name="tokens", snippet=page.snippet(TOKENS, with_bos=view.with_bos))

st.subheader("The same text in other vocabularies", anchor=False)
names = vocabulary_names(own_name)
tokenizers = readers(page.tokenizer, own_name)
counts = vocabulary_counts(view.prompt, {name: page.read_as(each) for name, each in tokenizers.items()})
chart(
    count_bars(counts, names[view.vocabulary]),
    name="vocabularies",
    summary="; ".join(f"{row.vocabulary}: {row.tokens:,} tokens" for row in counts.itertuples()),
)
st.caption("More rows in the table, fewer tokens for most texts. A begin-of-text token counts where one is added.")
await_rest(tokenizers)
numbers(counts, name="vocabularies", snippet=page.snippet(COUNTS, with_bos=view.with_bos))

if count:
    st.subheader("First the cut, then the merges", anchor=False)
    number = encoding.piece_of(place)
    spans = [encoding.span(each) for each in range(len(encoding.pieces))]
    piece_strip(
        merges.piece_labels(encoding), [len(span) for span in spans], selected=number, key="pieces",
        name="The pieces that the expression cuts", on_pick=lambda at: state.go(token=spans[at].start, step=0),
    )  # fmt: skip
    st.caption("An expression cuts the text first, and no token crosses a cut. Click a piece to see how it is merged.")
    piece, ids = encoding.pieces[number], [encoding.ids[at] for at in spans[number]]
    replay = merges.replay(tokenizer, piece, ids)
    check = merges.check_replay(tokenizer, encoding)
    show_moments(piece, replay)
    fact_list(
        [
            Fact(name="This piece", value=f"{len(ids)} token{'' if len(ids) == 1 else 's'}", note=replay.words),
            Fact(
                name="Replay gives the same ids", value=f"{check.agreed:,} of {check.replayed:,} different pieces",
                note=merges.ORIGIN[check.by],
            ),
        ],
        key="merge-facts",
        tile=260,
    )  # fmt: skip
    if replay.steps is not None:
        numbers(
            merges.step_table(replay.steps), name="merges",
            snippet=page.snippet(MERGES, with_bos=view.with_bos, piece=piece),
        )  # fmt: skip

st.subheader("Look up an id or a text", anchor=False)
st.text_input("Id or text", max_chars=200, **bound("lookup"))
st.caption("A number is taken as an id and as a text. Every space counts.")
looked_up(tokenizer, view.lookup)

st.subheader("The same sentence in other languages", anchor=False)
sentences = article_1()
table = language_counts(sentences, tokenizers)
chosen = names[view.vocabulary]
fewest = table.set_index("language")[chosen][REFERENCE]
columns = [
    Column(title="Language", note="reads the sentence in that language"),
    Column(title="× English", digits=2, bar=1.0, note=f"tokens of {chosen}, English is 1"),
    *(Column(title=name, digits=0, note="tokens") for name in tokenizers),
    Column(title="Characters", digits=0),
    Column(title="Bytes", digits=0),
]
score_table(
    columns,
    [
        Row(
            id=row["language"], name=row["language"],
            cells=[
                row["language"], row[chosen] / fewest, *(row[name] for name in tokenizers),
                row["characters"], row["bytes"],
            ],
        )
        for row in table.to_dict("records")
    ],
    name="Tokens of one sentence in several languages", sort=1, tone=EMBEDDING, key="languages",
    opened=next((language for language, text in sentences.items() if text == view.prompt), ""),
    on_pick=lambda language: state.go(prompt=sentences[language], token=-1, step=0),
)  # fmt: skip
st.caption(
    "Article 1 of the Universal Declaration of Human Rights. Where a sentence takes more tokens, its writers wait "
    "longer, pay more and fill the context sooner, for the same words. Click a language to read it above."
)
numbers(table, name="languages", snippet=page.snippet(LANGUAGES))
long_text(tokenizers)
details(
    page.blueprint,
    n_tokens=count,
    subject="tokenizer",
    formula=r"""
\begin{gathered}
i^* = \operatorname*{arg\,min}_{i}\; \operatorname{rank}(p_i \, p_{i+1}) \\
p_{i^*} \leftarrow p_{i^*} \, p_{i^*+1}
\end{gathered}
""",
    taps=("tap.embedded", "tap.logits"),
    code="explorer.tokenizer.bpe.merge_steps",
)
