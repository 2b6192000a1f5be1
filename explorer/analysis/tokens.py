"""A text as the tokens of a vocabulary, and of several vocabularies side by side."""

from collections.abc import Mapping, Sequence

import pandas as pd

from explorer.tokenizer.encoding import Encoding, Token
from explorer.tokenizer.tokenizer import Tokenizer


def token_table(tokens: Sequence[Token]) -> pd.DataFrame:
    """One row per token: place, id, visible text, kind, and its bytes in hex."""
    return pd.DataFrame(
        {
            "place": range(len(tokens)),
            "id": [token.id for token in tokens],
            "token": [token.label for token in tokens],
            "kind": [str(token.kind) for token in tokens],
            "bytes": [token.bytes.hex(" ") for token in tokens],
        }
    )


def vocabulary_counts(text: str, encodings: Mapping[str, Encoding]) -> pd.DataFrame:
    """One row per vocabulary: how many tokens it makes of ``text``, and how much of the text a token holds.

    Columns ``vocabulary``, ``tokens``, ``characters_per_token``, ``bytes_per_token`` (NaN without tokens), ``rows`` (of
    the vocabulary's embedding). A begin-of-text token counts where the encoding has one.
    """
    n_bytes = len(text.encode("utf-8", "replace"))
    return pd.DataFrame(
        [
            {
                "vocabulary": name,
                "tokens": len(encoding),
                "characters_per_token": len(text) / len(encoding) if len(encoding) else float("nan"),
                "bytes_per_token": n_bytes / len(encoding) if len(encoding) else float("nan"),
                "rows": encoding.vocabulary.size,
            }
            for name, encoding in encodings.items()
        ],
        columns=["vocabulary", "tokens", "characters_per_token", "bytes_per_token", "rows"],
    )


def language_counts(texts: Mapping[str, str], tokenizers: Mapping[str, Tokenizer]) -> pd.DataFrame:
    """The tokens that each vocabulary needs to say the same in several languages, without a begin-of-text token.

    One row per language: ``language``, ``characters``, ``bytes``, then a column of counts for every tokenizer.
    """
    return pd.DataFrame(
        [
            {"language": language, "characters": len(text), "bytes": len(text.encode())}
            | {name: len(tokenizer.encode(text, bos=False)) for name, tokenizer in tokenizers.items()}
            for language, text in texts.items()
        ]
    )
