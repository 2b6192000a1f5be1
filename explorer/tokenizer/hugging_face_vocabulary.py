"""The vocabulary that lies in a Hugging Face ``tokenizer.json``, where it is byte-level BPE.

The meaning of the fields is that of the ``tokenizers`` library; what differs from a plain byte-level BPE in a way that
would give other ids is refused by name.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeGuard

from explorer.errors import BadModelFile, UnsupportedModel
from explorer.tokenizer.bpe import Merges
from explorer.tokenizer.byte_alphabet import spelled_bytes
from explorer.tokenizer.merge_list import Pair, ordered_merges
from explorer.tokenizer.pretokenizer import PATTERNS
from explorer.tokenizer.vocabulary import Vocabulary, padded, sentencepiece_refusal

MAX_FILE_BYTES = 64 * 2**20
MAX_TOKENS = 2**22
CONFIG = "tokenizer_config.json"
TEMPLATE = "chat_template.jinja"
ENDS_GENERATION = ("<|end_of_text|>", "<|eom_id|>", "<|eot_id|>", "<|im_end|>", "<|endoftext|>")

_REMEDY = "Fetch the file again from where the model came from."
_NAME_OF_PATTERN = {PATTERNS[name]: name for name in ("llama3", "qwen2", "gpt2")}

Table = Mapping[str, object]


def vocabulary_from_hugging_face(path: Path, *, eos_ids: Sequence[int] = (), rows: int | None = None) -> Vocabulary:
    """The vocabulary in ``path`` and in the ``tokenizer_config.json`` beside it.

    ``eos_ids`` are those that the model's own description names; ``rows`` is the height of the embedding, where that is
    known. Raises UnsupportedModel for a tokenizer that this code would run wrongly, BadModelFile for a damaged one.
    """
    file = _read(path)
    settings = _read(path.with_name(CONFIG)) if path.with_name(CONFIG).is_file() else {}
    model = _table(file, "model", path)
    _check_model(model, path)
    pattern = _pattern(file, path)
    added = _added_tokens(file, path)
    tokens = _tokens(model, added, path)
    ids: dict[bytes, int] = {}
    for at, token in enumerate(tokens):
        if token is not None and at not in added and ids.setdefault(token, at) != at:
            raise BadModelFile(f"{path.name}: tokens {ids[token]} and {at} are the same, {token!r}", _REMEDY)
    special = {content: at for at, (content, _) in added.items()}
    bos = _content(settings.get("bos_token")) or _first_of_template(file)
    ends = [special.get(text) for text in (_content(settings.get("eos_token")) or "", *ENDS_GENERATION)]
    return Vocabulary(
        name=path.parent.name,
        tokens=padded(tokens, rows),
        special=special,
        always=frozenset(content for content, is_special in added.values() if not is_special),
        merges=_merges(model, ids, path),
        pattern=pattern,
        bos_id=special.get(bos) if bos is not None else None,
        eos_ids=tuple(dict.fromkeys(at for at in (*eos_ids, *ends) if at is not None and at < len(tokens))),
        adds_bos=bos is not None and (_first_of_template(file) == bos or settings.get("add_bos_token") is True),
        chat_template=_chat_template(settings, path),
        unicode_form=_unicode_form(file, path),
    )


def _read(path: Path) -> dict[str, object]:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise BadModelFile(
                f"{path.name} has {path.stat().st_size:,} bytes, expected at most {MAX_FILE_BYTES:,}", _REMEDY
            )
        file = json.loads(path.read_bytes())
    except OSError as error:
        raise BadModelFile(f"{path.name} cannot be read: {error.strerror}", "Check the folder.") from error
    except (ValueError, RecursionError) as error:
        raise BadModelFile(f"{path.name} is not JSON", _REMEDY) from error
    if not isinstance(file, dict):
        raise BadModelFile(f"{path.name} is not a table", _REMEDY)
    return file


def _check_model(model: Table, path: Path) -> None:
    if model.get("byte_fallback") is True or model.get("type") == "Unigram":
        raise sentencepiece_refusal(path.name)
    if model.get("type", "BPE") != "BPE":
        raise _unsupported(path, f"the kind {str(model.get('type'))[:40]!r}, expected 'BPE'")
    for key in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(key):
            raise _unsupported(path, f"{key} {str(model[key])[:40]!r}")


def _pattern(file: Table, path: Path) -> str:
    """Which of our expressions cuts a text as the file's pre-tokenizer does."""
    steps = _steps(file.get("pre_tokenizer"), "pretokenizers")
    kinds = [step.get("type") for step in steps]
    if not kinds or kinds[-1] != "ByteLevel":
        raise _unsupported(path, f"the pre-tokenizer {' and '.join(str(kind)[:40] for kind in kinds) or 'none'!r}")
    if steps[-1].get("add_prefix_space") is True:
        raise _unsupported(path, "a space added before every text")
    by_itself = steps[-1].get("use_regex", True) is True
    if kinds == ["ByteLevel"]:
        return "gpt2" if by_itself else "whole"
    if kinds == ["Digits", "ByteLevel"] and steps[0].get("individual_digits") is True and by_itself:
        return "smollm"
    if kinds == ["Split", "ByteLevel"] and not by_itself and steps[0].get("behavior") == "Isolated":
        expression = steps[0].get("pattern")
        text = expression.get("Regex") if isinstance(expression, Mapping) else None
        if isinstance(text, str) and text in _NAME_OF_PATTERN and steps[0].get("invert") is not True:
            return _NAME_OF_PATTERN[text]
    raise _unsupported(path, f"the pre-tokenizer {' and '.join(map(str, kinds))[:80]!r} with an expression of its own")


def _steps(found: object, key: str) -> list[Table]:
    """The steps of a pre-tokenizer, normalizer or post-processor: one, or a sequence of them."""
    if not isinstance(found, Mapping):
        return []
    inner = found.get(key)
    listed = inner if found.get("type") == "Sequence" and isinstance(inner, list) else [found]
    return [step for step in listed if isinstance(step, Mapping)]


def _unicode_form(file: Table, path: Path) -> Literal["NFC"] | None:
    kinds = [str(step.get("type")) for step in _steps(file.get("normalizer"), "normalizers")]
    if kinds in ([], ["NFC"]):
        return "NFC" if kinds else None
    raise _unsupported(path, f"the normalizer {' and '.join(kinds)[:80]!r}")


def _added_tokens(file: Table, path: Path) -> dict[int, tuple[str, bool]]:
    """The tokens that are found in a text before it is cut: id -> text, and whether it stands for a role."""
    found = file.get("added_tokens") or []
    added: dict[int, tuple[str, bool]] = {}
    for entry in found if isinstance(found, list) else [None]:
        fields = entry if isinstance(entry, Mapping) else {}
        at, content = fields.get("id"), fields.get("content")
        if not _is_id(at) or not isinstance(content, str) or not content or at in added:
            raise BadModelFile(f"{path.name}: added_tokens is not a list of ids, each with its own text", _REMEDY)
        added[at] = (content, fields.get("special") is True)
    if len({content for content, _ in added.values()}) < len(added):
        raise BadModelFile(f"{path.name}: added_tokens names a text twice", _REMEDY)
    return added


def _tokens(model: Table, added: Mapping[int, tuple[str, bool]], path: Path) -> list[bytes | None]:
    """The bytes of every id up to the highest; None for ids without a token."""
    spellings = _table(model, "vocab", path)
    if not spellings or not all(_is_id(at) for at in spellings.values()):
        raise BadModelFile(f"{path.name}: vocab is not a table of ids", _REMEDY)
    by_id = {at: spelling for spelling, at in spellings.items() if isinstance(at, int)}
    if len(by_id) < len(spellings):
        raise BadModelFile(f"{path.name}: vocab gives one id to two tokens", _REMEDY)
    tokens: list[bytes | None] = [None] * (max([*by_id, *added]) + 1)
    for at, spelling in by_id.items():
        token = spelled_bytes(spelling)
        if at not in added:
            if not token:
                raise _unsupported(path, f"the token {spelling[:40]!r}, which is not spelled in GPT-2's alphabet")
            tokens[at] = token
    for at, (content, _) in added.items():
        tokens[at] = content.encode("utf-8", "replace")
    return tokens


def _merges(model: Table, ids: Mapping[bytes, int], path: Path) -> Merges:
    found = model.get("merges")
    pairs: list[Pair] = []
    for entry in found if isinstance(found, list) else []:
        halves = entry.split(" ") if isinstance(entry, str) else entry
        if not isinstance(halves, list) or len(halves) != 2 or not all(isinstance(half, str) for half in halves):
            raise BadModelFile(f"{path.name}: the merge {str(entry)[:40]!r} is not two tokens", _REMEDY)
        left, right = spelled_bytes(halves[0]), spelled_bytes(halves[1])
        if not left or not right or left + right not in ids:
            raise BadModelFile(
                f"{path.name}: the merge {str(entry)[:40]!r} is not two tokens that join into a third", _REMEDY
            )
        pairs.append((left, right))
    return ordered_merges(ids, pairs, whole=model.get("ignore_merges") is True)


def _first_of_template(file: Table) -> str | None:
    """The special token that the post-processor puts before every text."""
    for step in _steps(file.get("post_processor"), "processors"):
        single = step.get("single")
        first = single[0] if step.get("type") == "TemplateProcessing" and isinstance(single, list) and single else None
        token = first.get("SpecialToken") if isinstance(first, Mapping) else None
        if isinstance(token, Mapping) and isinstance(token.get("id"), str):
            return str(token["id"])
    return None


def _chat_template(settings: Table, path: Path) -> str | None:
    found = settings.get("chat_template")
    if isinstance(found, str):
        return found
    beside = path.with_name(TEMPLATE)
    try:
        return beside.read_text("utf-8") if beside.is_file() and beside.stat().st_size < 2**20 else None
    except (OSError, UnicodeDecodeError):
        return None


def _content(token: object) -> str | None:
    """The text of a token in tokenizer_config.json, where it stands alone or in a table."""
    found = token.get("content") if isinstance(token, Mapping) else token
    return found if isinstance(found, str) else None


def _is_id(at: object) -> TypeGuard[int]:
    return isinstance(at, int) and not isinstance(at, bool) and 0 <= at < MAX_TOKENS


def _table(file: Table, key: str, path: Path) -> Table:
    found = file.get(key)
    if not isinstance(found, Mapping):
        raise BadModelFile(f"{path.name}: {key} is missing or not a table", _REMEDY)
    return found


def _unsupported(path: Path, found: str) -> UnsupportedModel:
    return UnsupportedModel(
        f"{path.name} holds a tokenizer with {found}, which this code would run wrongly",
        "Token ids can be used instead of a text; or choose a model with the tokenizer of Llama 3, Qwen2 or SmolLM2.",
    )
