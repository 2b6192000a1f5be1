"""``merges``: how byte-pair encoding builds the tokens of every piece of a text."""

from explorer.cli.arguments import text_argument
from explorer.cli.output import Json
from explorer.cli.tokens import chosen_tokenizer, with_bos
from explorer.errors import TextTooLong
from explorer.tokenizer.bpe import MergeStep
from explorer.tokenizer.encoding import Encoding
from explorer.tokenizer.tokenizer import Tokenizer


def merges(text: str, *, encoding: str | None, model: str | None, bos: bool | None, special: bool) -> Json:
    """The pieces of ``text``, and the merges of each in the order they happen.

    ``left``, ``right`` and ``result`` are text, null where the bytes (in hex, beside it) are no whole characters.
    ``whole`` marks a piece that is a token as it stands: it is taken without merging, whatever merging would give.
    """
    tokenizer = chosen_tokenizer(encoding, model)
    encoded = tokenizer.encode(text_argument(text), special=special, bos=with_bos(bos, encoding))
    return {
        "pieces": [_piece(tokenizer, encoded, number) for number in range(len(encoded.pieces))],
        "notes": list(encoded.notes),
    }


def _piece(tokenizer: Tokenizer, encoded: Encoding, number: int) -> Json:
    piece = encoded.pieces[number]
    ids = [encoded.ids[place] for place in encoded.span(number)]
    row: dict[str, object] = {"text": piece, "ids": ids, "whole": len(ids) == 1 and tokenizer.takes_whole(piece)}
    if tokenizer.vocabulary.special_ids.intersection(ids):
        return row | {"merges": [], "special": True}
    try:
        return row | {"merges": [_step(step) for step in tokenizer.merge_steps(piece)]}
    except TextTooLong as error:
        return row | {"merges": None, "problem": error.found}


def _step(step: MergeStep) -> Json:
    parts = {"left": step.left, "right": step.right, "result": step.result}
    row: dict[str, object] = {"rank": step.rank, "position": step.position}
    for name, data in parts.items():
        row |= {name: _text(data), f"{name}_bytes": data.hex()}
    return row


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
