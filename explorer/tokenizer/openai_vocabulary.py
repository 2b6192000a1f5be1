"""The vocabularies of OpenAI's models, which ship with this program: GPT-4's cl100k_base and GPT-4o's o200k_base.

The ranks are OpenAI's own files, packed, under ``assets/vocabularies/``; names, special tokens and hashes are those of
tiktoken_ext/openai_public.py.
"""

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from explorer.errors import BadModelFile, BadValue
from explorer.tokenizer.bpe import Merges
from explorer.tokenizer.vocabulary import Vocabulary, ranked_tokens

FOLDER = Path(__file__).parent.parent.parent / "assets" / "vocabularies"


@dataclass(frozen=True, kw_only=True)
class RankFile:
    """What belongs to a file of ranks: its SHA-256 unpacked, and the special tokens, which it does not hold."""

    sha256: str
    special: Mapping[str, int]


OPENAI_VOCABULARIES: Mapping[str, RankFile] = {
    "cl100k_base": RankFile(
        sha256="223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        special={
            "<|endoftext|>": 100_257,
            "<|fim_prefix|>": 100_258,
            "<|fim_middle|>": 100_259,
            "<|fim_suffix|>": 100_260,
            "<|endofprompt|>": 100_276,
        },
    ),
    "o200k_base": RankFile(
        sha256="446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        special={"<|endoftext|>": 199_999, "<|endofprompt|>": 200_018},
    ),
}


def openai_vocabulary(name: str) -> Vocabulary:
    """The vocabulary of that name. Raises BadValue for another name, BadModelFile if the file is not OpenAI's."""
    known = OPENAI_VOCABULARIES.get(name)
    if known is None:
        raise BadValue(
            f"There is no vocabulary {name!r} of OpenAI here", f"Names here: {', '.join(OPENAI_VOCABULARIES)}."
        )
    texts = ranked_tokens(_unpacked(FOLDER / f"{name}.tiktoken.gz", known.sha256), name)
    rows: list[bytes | None] = [*texts, *[None] * (max(known.special.values()) + 1 - len(texts))]
    for text, at in known.special.items():
        rows[at] = text.encode()
    return Vocabulary(
        name=name,
        tokens=tuple(rows),
        special=known.special,
        merges=Merges(ranks={token: rank for rank, token in enumerate(texts)}),
        pattern=name,
        bos_id=None,
        eos_ids=(known.special["<|endoftext|>"],),
        adds_bos=False,
    )


def _unpacked(path: Path, sha256: str) -> bytes:
    try:
        data = gzip.decompress(path.read_bytes())
    except (OSError, EOFError) as error:
        raise BadModelFile(f"{path.name} cannot be read: {error}", "Install the program again.") from error
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise BadModelFile(
            f"{path.name} holds another file than OpenAI's: SHA-256 {found}, expected {sha256}",
            "Install the program again.",
        )
    return data
