"""What a model's tokenizer knows: its tokens, its special tokens, its merges, and when it adds BOS."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from explorer.errors import BadModelFile, UnsupportedModel
from explorer.tokenizer.bpe import Merges

MAX_TIKTOKEN_FILE_BYTES = 64 * 2**20

# Llama 3.1 as published on Hugging Face. Meta's own tokenizer.py gives two of the reserved ones later names
# (<|step_id|>, <|image|>), which shifts the numbers of the rest.
LLAMA3_SPECIAL_COUNT = 256
_LLAMA3_SPECIAL_NAMES = (
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|reserved_special_token_0|>",
    "<|reserved_special_token_1|>",
    "<|finetune_right_pad_id|>",
    "<|reserved_special_token_2|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eom_id|>",
    "<|eot_id|>",
    "<|python_tag|>",
)
_LLAMA3_FIRST_UNNAMED = 3  # the number of the reserved token that follows the named ones


@dataclass(frozen=True, kw_only=True, eq=False)
class Vocabulary:
    """Everything that turns text into token ids and back.

    ``tokens`` holds the bytes of every row of the embedding, None for a row that no token uses. ``special`` are the
    tokens that stand for a role rather than for text; those in ``always`` are recognised even in ordinary text.
    ``pattern`` names the pre-tokenizer's expression. ``eos_ids`` all end a generation; the file's own EOS is first.
    ``unicode_form`` is the form of Unicode that a text is brought to before it is cut, if any.
    """

    name: str
    tokens: tuple[bytes | None, ...]
    special: Mapping[str, int]
    always: frozenset[str] = frozenset()
    merges: Merges
    pattern: str
    bos_id: int | None
    eos_ids: tuple[int, ...]
    adds_bos: bool
    chat_template: str | None = None
    unicode_form: Literal["NFC"] | None = None

    @property
    def size(self) -> int:
        """The number of rows in the embedding, used or not."""
        return len(self.tokens)

    @cached_property
    def ids(self) -> Mapping[bytes, int]:
        """The id of every token made of text, by its bytes."""
        special = self.special_ids
        return {token: at for at, token in enumerate(self.tokens) if token is not None and at not in special}

    @cached_property
    def special_ids(self) -> frozenset[int]:
        """The ids of the special tokens."""
        return frozenset(self.special.values())

    @cached_property
    def missing_bytes(self) -> bytes:
        """The byte values that have no token of their own; in text they are left out."""
        return bytes(byte for byte in range(256) if bytes([byte]) not in self.ids)


def vocabulary_from_tiktoken(path: Path, *, name: str, rows: int | None = None) -> Vocabulary:
    """Meta's ``tokenizer.model`` of a Llama 3: a line "base64 rank" per token, then 256 special tokens.

    ``rows`` is the height of the embedding, where that is known.
    Raises BadModelFile, or UnsupportedModel for the sentencepiece file of a Llama 2, which has the same name.
    """
    texts = ranked_tokens(_tiktoken_file(path), path.name)
    count = len(texts)
    reserved = LLAMA3_SPECIAL_COUNT - len(_LLAMA3_SPECIAL_NAMES)
    names = [*_LLAMA3_SPECIAL_NAMES]
    names += [f"<|reserved_special_token_{_LLAMA3_FIRST_UNNAMED + number}|>" for number in range(reserved)]
    special = {text: count + place for place, text in enumerate(names)}
    return Vocabulary(
        name=name,
        tokens=padded([*texts, *(text.encode() for text in names)], rows),
        special=special,
        merges=Merges(ranks={token: rank for rank, token in enumerate(texts)}),
        pattern="llama3",
        bos_id=special["<|begin_of_text|>"],
        eos_ids=tuple(special[text] for text in ("<|end_of_text|>", "<|eom_id|>", "<|eot_id|>")),
        adds_bos=True,
    )


def ranked_tokens(data: bytes, name: str) -> list[bytes]:
    """The tokens of a tiktoken file in the order of their ranks, which must be 0, 1, 2 and so on.

    ``name`` is the file's, for the message of BadModelFile.
    """
    tokens: dict[int, bytes] = {}
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            text, rank = line.split()
            tokens[int(rank)] = base64.b64decode(text, validate=True)
        except (ValueError, binascii.Error) as error:
            raise BadModelFile(
                f'{name}, line {number}, is not "base64 rank"', "Choose the tokenizer.model of a Llama 3."
            ) from error
    ranked = [tokens[rank] for rank in range(len(tokens)) if rank in tokens]
    if not ranked or len(ranked) < len(tokens) or len(set(ranked)) < len(ranked) or b"" in ranked:
        raise BadModelFile(
            f"{name} has {len(tokens):,} tokens whose ranks are not 0 to {len(tokens) - 1:,}, each token once",
            "Fetch the file again.",
        )
    return ranked


def _tiktoken_file(path: Path) -> bytes:
    """The bytes of Meta's file, unless it is too large or that of a Llama 2."""
    try:
        size = path.stat().st_size
        if size > MAX_TIKTOKEN_FILE_BYTES:
            raise BadModelFile(
                f"{path.name} is {size:,} bytes long; a tiktoken file has at most {MAX_TIKTOKEN_FILE_BYTES:,}",
                "Choose the tokenizer.model of a Llama 3.",
            )
        data = path.read_bytes()
    except OSError as error:
        raise BadModelFile(f"{path.name} cannot be read: {error.strerror}", "Check the path.") from error
    if b"<unk>" in data[:64]:  # the first piece of a sentencepiece model; "<" is no base64
        raise sentencepiece_refusal(path.name)
    return data


def padded(tokens: Sequence[bytes | None], rows: int | None) -> tuple[bytes | None, ...]:
    """The tokens of every row of an embedding that may be higher than the vocabulary is long; BadModelFile if lower."""
    unused = 0 if rows is None else rows - len(tokens)
    if unused < 0:
        raise BadModelFile(
            f"There are {len(tokens):,} tokens for an embedding of {rows:,} rows", "Take both from the same model."
        )
    return (*tokens, *[None] * unused)


def sentencepiece_refusal(found: str) -> UnsupportedModel:
    """The refusal of a tokenizer that is not byte-level BPE, by name."""
    return UnsupportedModel(
        f"{found} holds a sentencepiece tokenizer (Llama 2, TinyLlama, Mistral 7B); only byte-level BPE is supported",
        "Choose a model with a byte-level BPE tokenizer: Llama 3 or later, or SmolLM2.",
    )
