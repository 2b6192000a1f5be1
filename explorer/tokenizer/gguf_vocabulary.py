"""The vocabulary that a GGUF file carries in its ``tokenizer.*`` metadata.

The rules are llama.cpp's, src/llama-vocab.cpp: which pre-tokenizer a name means, which of them add BOS unless the file
says otherwise, and which tokens end a generation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeVar

from explorer.errors import BadModelFile, UnsupportedModel
from explorer.tokenizer.bpe import Merges
from explorer.tokenizer.byte_alphabet import spelled_bytes
from explorer.tokenizer.merge_list import Pair, ordered_merges
from explorer.tokenizer.vocabulary import Vocabulary, padded, sentencepiece_refusal


class TokenType(IntEnum):
    """``tokenizer.ggml.token_type``, as ggml numbers it."""

    UNDEFINED = 0
    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


_TEXT = frozenset({TokenType.NORMAL, TokenType.UNDEFINED})  # the others are special, or unused
MAX_ROWS = 2**24  # more than any model has; a hostile file cannot make us fill the memory with unused rows


@dataclass(frozen=True, kw_only=True)
class PreTokenizer:
    """What a value of ``tokenizer.ggml.pre`` stands for; ``whole``: a piece that is a token is not merged."""

    pattern: str
    adds_bos: bool
    whole: bool


_LLAMA3 = PreTokenizer(pattern="llama3", adds_bos=True, whole=True)
_GPT2 = PreTokenizer(pattern="gpt2", adds_bos=False, whole=False)
PRE_TOKENIZERS: Mapping[str, PreTokenizer] = {
    "llama-bpe": _LLAMA3,
    "llama3": _LLAMA3,
    "llama-v3": _LLAMA3,
    "qwen2": PreTokenizer(pattern="qwen2", adds_bos=False, whole=False),
    "smollm": PreTokenizer(pattern="smollm", adds_bos=False, whole=False),
    "gpt-2": _GPT2,
}

Name = TypeVar("Name", str, bytes)

# Special tokens that end a generation whatever the file's own EOS is.
_ENDS_GENERATION = ("<|end_of_text|>", "<|eom_id|>", "<|eot_id|>", "<|im_end|>", "<|endoftext|>")
_REMEDY = "Fetch the file again, or convert the model again."


def vocabulary_from_gguf(metadata: Mapping[str, object], *, rows: int | None = None) -> Vocabulary:
    """The vocabulary of a GGUF file; ``rows`` is the height of its embedding, where that is known.

    Raises UnsupportedModel for a tokenizer that this code would run wrongly, BadModelFile for one that makes no sense.
    """
    pre = _pre_tokenizer(metadata)
    spellings = _strings(metadata, "tokenizer.ggml.tokens")
    types = _token_types(metadata, len(spellings))
    tokens = [_token_bytes(*row) for row in zip(range(len(spellings)), spellings, types, strict=True)]
    texts = {at: token for at, token in enumerate(tokens) if token is not None and types[at] in _TEXT}
    if not texts:
        raise BadModelFile("tokenizer.ggml.tokens holds no token made of text", _REMEDY)
    special = {at: spellings[at] for at, token in enumerate(tokens) if token is not None and types[at] not in _TEXT}
    special_ids = _by_token(special)
    name = metadata.get("general.name")
    if rows is None:
        stated = metadata.get(f"{metadata.get('general.architecture')}.vocab_size")
        rows = max(stated, len(tokens)) if isinstance(stated, int) and stated <= MAX_ROWS else None
    return Vocabulary(
        name=name if isinstance(name, str) else "the GGUF file",
        tokens=padded(tokens, rows),
        special=special_ids,
        always=frozenset(text for at, text in special.items() if types[at] == TokenType.USER_DEFINED),
        merges=_merges(metadata, _by_token(texts), whole=pre.whole),
        pattern=pre.pattern,
        bos_id=_token_id(metadata, "bos", tokens),
        eos_ids=_eos_ids(metadata, tokens, special_ids),
        adds_bos=_adds_bos(metadata, pre),
        chat_template=_optional_string(metadata, "tokenizer.chat_template"),
    )


def _pre_tokenizer(metadata: Mapping[str, object]) -> PreTokenizer:
    model = metadata.get("tokenizer.ggml.model")
    if model == "llama":
        raise sentencepiece_refusal("The GGUF file")
    if model != "gpt2":
        raise UnsupportedModel(
            f"The tokenizer is of kind {model!r} (tokenizer.ggml.model); only 'gpt2', byte-level BPE, is supported",
            "Choose a model with a byte-level BPE tokenizer: Llama 3 or later, or SmolLM2.",
        )
    pre = metadata.get("tokenizer.ggml.pre")
    if pre in (None, "default"):
        # llama.cpp takes this for a split of its own, which no model was trained on; Hugging Face takes GPT-2's.
        raise UnsupportedModel(
            f"The file does not say how its model splits text: tokenizer.ggml.pre is {pre!r}; supported are "
            f"{', '.join(PRE_TOKENIZERS)}",
            "Convert the model again with a converter that writes its pre-tokenizer; a guess gives other token ids.",
        )
    if not isinstance(pre, str) or pre not in PRE_TOKENIZERS:
        raise UnsupportedModel(
            f"The pre-tokenizer is {pre!r} (tokenizer.ggml.pre); supported are {', '.join(PRE_TOKENIZERS)}",
            "Choose a model whose text is split in one of these ways; another split gives other token ids.",
        )
    return PRE_TOKENIZERS[pre]


def _token_types(metadata: Mapping[str, object], count: int) -> list[TokenType]:
    found = metadata.get("tokenizer.ggml.token_type")
    if found is None:
        return [TokenType.NORMAL] * count
    if not isinstance(found, Sequence) or len(found) != count:
        raise BadModelFile(f"tokenizer.ggml.token_type does not hold one type for each of {count:,} tokens", _REMEDY)
    try:
        return [TokenType(kind) for kind in found]
    except ValueError as error:
        raise BadModelFile(f"tokenizer.ggml.token_type: {error}", _REMEDY) from error


def _token_bytes(at: int, spelling: str, kind: TokenType) -> bytes | None:
    """The bytes of one row; None when no token uses it."""
    if kind == TokenType.UNUSED or not spelling:
        return None
    token = spelled_bytes(spelling) if kind in _TEXT else _utf8(spelling)
    if token is None:
        raise BadModelFile(f"Token {at}, {spelling!r}, is not spelled in GPT-2's alphabet of bytes", _REMEDY)
    return token


def _utf8(text: str) -> bytes | None:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return None


def _by_token(tokens: Mapping[int, Name]) -> dict[Name, int]:
    """The ids by token; no token may stand twice."""
    ids: dict[Name, int] = {}
    for at, token in tokens.items():
        if ids.setdefault(token, at) != at:
            raise BadModelFile(f"Tokens {ids[token]} and {at} are the same, {token!r}", _REMEDY)
    return ids


def _merges(metadata: Mapping[str, object], ids: Mapping[bytes, int], *, whole: bool) -> Merges:
    """The file's merges; a file without any has single bytes only, and tokens that a whole piece can become."""
    pairs: list[Pair] = []
    for line in _strings(metadata, "tokenizer.ggml.merges") if "tokenizer.ggml.merges" in metadata else ():
        first, _, second = line.partition(" ")
        left, right = spelled_bytes(first), spelled_bytes(second)
        if not left or not right or left + right not in ids:
            raise BadModelFile(f"The merge {line!r} is not two tokens that join into a third", _REMEDY)
        pairs.append((left, right))
    return ordered_merges(ids, pairs, whole=whole)


def _token_id(metadata: Mapping[str, object], role: str, tokens: Sequence[bytes | None]) -> int | None:
    found = metadata.get(f"tokenizer.ggml.{role}_token_id")
    if found is None:
        return None
    if not isinstance(found, int) or not 0 <= found < len(tokens) or tokens[found] is None:
        raise BadModelFile(f"tokenizer.ggml.{role}_token_id is {found!r}, which is not a token", _REMEDY)
    return found


def _eos_ids(
    metadata: Mapping[str, object], tokens: Sequence[bytes | None], special: Mapping[str, int]
) -> tuple[int, ...]:
    stated = [_token_id(metadata, role, tokens) for role in ("eos", "eot", "eom")]
    named = [special.get(text) for text in _ENDS_GENERATION]
    return tuple(dict.fromkeys(found for found in (*stated, *named) if found is not None))


def _adds_bos(metadata: Mapping[str, object], pre: PreTokenizer) -> bool:
    stated = metadata.get("tokenizer.ggml.add_bos_token")
    return stated if isinstance(stated, bool) else pre.adds_bos


def _strings(metadata: Mapping[str, object], key: str) -> Sequence[str]:
    found = metadata.get(key)
    if not isinstance(found, Sequence) or isinstance(found, str) or not all(isinstance(text, str) for text in found):
        raise BadModelFile(f"{key} is missing or not a list of strings", _REMEDY)
    return found


def _optional_string(metadata: Mapping[str, object], key: str) -> str | None:
    found = metadata.get(key)
    return found if isinstance(found, str) else None
