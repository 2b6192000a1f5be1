"""The tokens of a text as rows."""

from collections.abc import Sequence

import pandas as pd

from explorer.tokenizer.encoding import Token


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
