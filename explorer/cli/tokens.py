"""``tokens`` and ``decode``."""

from collections.abc import Sequence

from explorer.checkpoint.default_model import DEFAULT_MODEL_ID
from explorer.cli.arguments import text_argument
from explorer.cli.output import Json
from explorer.cli.session import tokenizer_named
from explorer.errors import NoSuchToken
from explorer.tokenizer.encoding import Token
from explorer.tokenizer.tokenizer import Tokenizer


def tokens(text: str, *, encoding: str | None, model: str | None, bos: bool | None, special: bool) -> Json:
    """How a vocabulary cuts ``text``.

    A vocabulary without a model adds no begin-of-text token unless told to; a model's own does as its files say.
    """
    tokenizer = _tokenizer(encoding, model)
    begin = bool(bos) if encoding is not None else bos
    encoded = tokenizer.encode(text_argument(text), special=special, bos=begin)
    return {
        "encoding": encoding or model or DEFAULT_MODEL_ID,
        "count": len(encoded),
        "tokens": [{**_described(token), "kind": str(token.kind)} for token in encoded.tokens],
        "missing": [{"byte": f"{byte.value:02x}", "position": byte.position} for byte in encoded.missing],
        "notes": list(encoded.notes),
    }


def decode(ids: Sequence[int], *, encoding: str | None, model: str | None) -> Json:
    """The tokens of ``ids``, and the text that those that exist make together."""
    tokenizer = _tokenizer(encoding, model)
    rows: list[Json] = []
    found: list[int] = []
    for token_id in ids:
        try:
            rows.append(_described(tokenizer.token(token_id)))
            found.append(token_id)
        except NoSuchToken as error:
            rows.append({"id": token_id, "text": None, "bytes": None, "problem": error.found})
    return {"tokens": rows, "text": tokenizer.decode(found)}


def _tokenizer(encoding: str | None, model: str | None) -> Tokenizer:
    if encoding is not None:
        return tokenizer_named(encoding)
    return tokenizer_named(model=model or DEFAULT_MODEL_ID)


def _described(token: Token) -> dict[str, object]:
    return {"id": token.id, "text": token.text, "bytes": token.bytes.hex()}
