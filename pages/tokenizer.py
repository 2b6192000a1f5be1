"""How a text is cut into the pieces that the model knows."""

import streamlit as st

from explorer.analysis.tokens import token_table
from explorer.ui.chart import numbers
from explorer.ui.components import Fact, fact_list
from explorer.ui.controls import vocabulary_controls
from explorer.ui.page import draw_tokens, open_page
from explorer.ui.token_facts import token_facts

SNIPPET = """import streamlit as st

from explorer.analysis.tokens import token_table
from explorer.cli.session import tokenizer_named

tokenizer = tokenizer_named({vocabulary!r}, model={model!r})
encoding = tokenizer.encode({prompt!r}, special={special}, bos={with_bos})
print(token_table(encoding.tokens))"""

page = open_page("tokenizer", strip=False)
view = page.view
picture = st.container()
vocabulary_controls(page.blueprint.config.name)
with picture:
    encoding = page.read_as(view.vocabulary)
    place = view.place(len(encoding))
    draw_tokens(encoding, place, coloured=True)
    count, n_characters = len(encoding), len(view.prompt)
    fact_list(
        [
            Fact(name="Tokens", value=f"{count:,}"),
            Fact(name="Characters", value=f"{n_characters:,}"),
            Fact(name="Bytes in UTF-8", value=f"{len(view.prompt.encode()):,}"),
            Fact(name="Characters per token", value=f"{n_characters / count:.2f}" if count else "–"),
        ],
        key="counts",
    )
    if count:
        token_facts(encoding.tokens, place)
numbers(token_table(encoding.tokens), name="tokens", snippet=page.snippet(SNIPPET, with_bos=view.with_bos))
