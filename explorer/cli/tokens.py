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
    """How a vocabulary cuts ``text``."""
    tokenizer = chosen_tokenizer(encoding, model)
    encoded = tokenizer.encode(text_argument(text), special=special, bos=with_bos(bos, encoding))
    return {
        "encoding": encoding or model or DEFAULT_MODEL_ID,
        "count": len(encoded),
        "tokens": [{**_described(token), "kind": str(token.kind)} for token in encoded.tokens],
        "missing": [{"byte": f"{byte.value:02x}", "position": byte.position} for byte in encoded.missing],
        "notes": list(encoded.notes),
    }


def decode(ids: Sequence[int], *, encoding: str | None, model: str | None) -> Json:
    """The tokens of ``ids``, and the text that those that exist make together."""
    tokenizer = chosen_tokenizer(encoding, model)
    rows: list[Json] = []
    found: list[int] = []
    for token_id in ids:
        try:
            rows.append(_described(tokenizer.token(token_id)))
            found.append(token_id)
        except NoSuchToken as error:
            rows.append({"id": token_id, "text": None, "bytes": None, "problem": error.found})
    return {"tokens": rows, "text": tokenizer.decode(found)}


def chosen_tokenizer(encoding: str | None, model: str | None) -> Tokenizer:
    """That of ``--encoding``, otherwise that of ``--model``, otherwise the default model's."""
    if encoding is not None:
        return tokenizer_named(encoding)
    return tokenizer_named(model=model or DEFAULT_MODEL_ID)


def with_bos(bos: bool | None, encoding: str | None) -> bool | None:
    """Whether to begin with the begin-of-text token: a vocabulary without a model does so only when told to."""
    return bool(bos) if encoding is not None else bos


def _described(token: Token) -> dict[str, object]:
    return {"id": token.id, "text": token.text, "bytes": token.bytes.hex()}
