"""Counting a text that is too long for a link."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import streamlit as st

from explorer.errors import ExplorerError
from explorer.tokenizer.tokenizer import MAX_CHARACTERS, Tokenizer
from explorer.ui.components import Fact, fact_list
from explorer.ui.kept import kept
from explorer.ui.waiting import show_error


@dataclass(frozen=True, kw_only=True)
class Count:
    """How many tokens a vocabulary makes of a text."""

    tokens: int

    @property
    def n_bytes(self) -> int:
        """Bytes of what is kept, with its key."""
        return 200


def long_text(tokenizers: Mapping[str, Tokenizer]) -> None:
    """A box for a text of up to a million characters, and its exact count in every vocabulary.

    The text is not part of the link, and nothing but the counts is kept of it.
    """
    with st.expander("Count a longer text", icon=":material/article:"):
        text = st.text_area("A longer text", height=140, key="longer-text", placeholder="Paste it here")
        st.caption(
            f"Up to {MAX_CHARACTERS:,} characters are counted, exactly and without a begin-of-text token; a longer "
            "text is refused. It does not become part of the link."
        )
        if text:
            _counts(text, tokenizers)


def _count(tokenizer: Tokenizer, text: str) -> Count:
    return Count(tokens=len(tokenizer.encode(text, bos=False)))


def _counts(text: str, tokenizers: Mapping[str, Tokenizer]) -> None:
    digest = hashlib.sha256(text.encode("utf-8", "replace")).digest()
    facts = [
        Fact(name="Characters", value=f"{len(text):,}"),
        Fact(name="Bytes in UTF-8", value=f"{len(text.encode('utf-8', 'replace')):,}"),
    ]
    try:
        for name, tokenizer in tokenizers.items():
            with st.spinner(f"Counting with {name}"):
                count = kept(("count", name, digest), partial(_count, tokenizer, text))
            each = len(text) / count.tokens if count.tokens else 0.0
            facts.append(Fact(name=name, value=f"{count.tokens:,} tokens", note=f"{each:.2f} characters each"))
    except ExplorerError as error:
        show_error(error)
    else:
        fact_list(facts, key="longer-counts")
