"""Text to token ids and back, exactly as the model was trained."""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import regex
import tiktoken

from explorer.errors import BadValue, NoSuchToken, TextTooLong, UnsupportedModel
from explorer.tokenizer.bpe import MergeStep, merge_steps, piece_parts
from explorer.tokenizer.encoding import Encoding, MissingByte, Token, described_token
from explorer.tokenizer.gguf_vocabulary import vocabulary_from_gguf
from explorer.tokenizer.hugging_face_vocabulary import vocabulary_from_hugging_face
from explorer.tokenizer.openai_vocabulary import openai_vocabulary
from explorer.tokenizer.pretokenizer import split
from explorer.tokenizer.vocabulary import Vocabulary, vocabulary_from_tiktoken

MAX_CHARACTERS = 1_000_000

_SURROGATE = regex.compile(r"[\uD800-\uDFFF]")


def build_tokenizer(
    format: str, data: Mapping[str, object], *, rows: int | None = None, name: str | None = None
) -> "Tokenizer":
    """The tokenizer of a model, from the raw material in its files.

    ``format`` is "gguf" (``data`` is the metadata), "tiktoken" (``data["path"]`` names Meta's tokenizer.model),
    "huggingface" (``data["path"]`` names a tokenizer.json, ``data["eos_ids"]`` the ids that end a generation) or
    "openai" (``data["name"]`` is that of a vocabulary which ships with this program).
    ``rows`` is the height of the embedding, where that is known; ``name`` is what messages call the vocabulary, if not
    what its file does. A reader of another format gets its case in ``_vocabulary``. Raises UnsupportedModel or
    BadModelFile.
    """
    vocabulary = _vocabulary(format, data, rows)
    return Tokenizer(vocabulary if name is None else replace(vocabulary, name=name))


class Tokenizer:
    """One vocabulary at work. Never changes, so threads may share it.

    The split is ours, and tiktoken merges inside the pieces. tiktoken's own split would be the same, but on a run of a
    million white-space characters it panics, with an exception that is no ``Exception``.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._special = _any_of(vocabulary.special)
        self._always = _any_of(vocabulary.always)
        merges = vocabulary.merges
        self._tiktoken: tiktoken.Encoding | None = None
        if merges.pairs is None:
            self._tiktoken = tiktoken.Encoding(
                vocabulary.name, pat_str=r"[\s\S]", mergeable_ranks=dict(merges.ranks), special_tokens={}
            )
        # tiktoken answers in ranks. Most files number their tokens so that these are the ids; then None.
        id_of_rank = {rank: vocabulary.ids[token] for token, rank in merges.ranks.items()}
        self._id_of_rank = None if all(rank == at for rank, at in id_of_rank.items()) else id_of_rank

    def encode(self, text: str, *, bos: bool | None = None, special: bool = False) -> Encoding:
        """The ids of a text, with nothing normalised away.

        ``bos`` None does as the vocabulary says. ``special`` False reads "<|eot_id|>" as the ten characters it is, True
        as the special token. A byte without a token is left out of its piece before merging, as Hugging Face does.
        Raises TextTooLong beyond ``MAX_CHARACTERS``.
        """
        if len(text) > MAX_CHARACTERS:
            raise TextTooLong(
                f"The text has {len(text):,} characters; at most {MAX_CHARACTERS:,} are taken", "Shorten the text."
            )
        notes: list[str] = []
        if _SURROGATE.search(text):
            # What tiktoken does as well: a pair becomes its character, a lone half U+FFFD.
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
            notes.append("Half a surrogate pair is no character; each was replaced by U+FFFD.")
        if self.vocabulary.unicode_form is not None:
            normal = unicodedata.normalize(self.vocabulary.unicode_form, text)
            if normal != text:
                text = normal
                notes.append("The text was brought to the Unicode form NFC, as this tokenizer does.")
        segments = self._segments(text, special=special)
        if not special and any(self._special.search(segment) for segment, special_id in segments if special_id is None):
            notes.append("What looks like a special token was read as ordinary text.")

        begin = self._begin(segments, self.vocabulary.adds_bos if bos is None else bos, notes)
        ids = [*begin]
        starts = [*range(len(begin))]
        pieces = [name for name, at in self.vocabulary.special.items() if at in begin]
        missing: list[MissingByte] = []
        known: dict[str, list[int]] = {}
        position = 0  # in the UTF-8 of the text
        for segment, special_id in segments:
            if special_id is not None:
                starts.append(len(ids))
                pieces.append(segment)
                ids.append(special_id)
            else:
                missing += self._missing(segment.encode(), position)
                for piece in self.pieces(segment):
                    if piece not in known:
                        known[piece] = self._piece_ids(piece.encode())
                    starts.append(len(ids))
                    pieces.append(piece)
                    ids += known[piece]
            position += len(segment.encode())
        if missing:
            values = " ".join(f"{value:02X}" for value in sorted({entry.value for entry in missing}))
            notes.append(f"The vocabulary has no token for these bytes, so they were left out: {values}.")
        return Encoding(
            ids=tuple(ids),
            starts=tuple(starts),
            pieces=tuple(pieces),
            missing=tuple(missing),
            notes=tuple(notes),
            vocabulary=self.vocabulary,
        )

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some ids; bytes that are no whole characters become U+FFFD, unused rows nothing.

        Raises NoSuchToken for an id that is no row of the embedding.
        """
        tokens = self.vocabulary.tokens
        try:
            return b"".join(tokens[_natural(at)] or b"" for at in ids).decode("utf-8", "replace")
        except IndexError as error:
            raise NoSuchToken(
                f"One of the ids is none of {self.vocabulary.name}; they are 0 to {self.vocabulary.size - 1}",
                f"Choose ids from 0 to {self.vocabulary.size - 1}.",
            ) from error

    def token(self, token_id: int) -> Token:
        """The token of an id, on its own. NoSuchToken for an unused row of the embedding, or an id beyond it."""
        return described_token(self.vocabulary, token_id)

    def label(self, token_id: int) -> str:
        """An id's token for display; "unused row 151700" for a row of the embedding without a token."""
        if 0 <= token_id < self.vocabulary.size and self.vocabulary.tokens[token_id] is None:
            return f"unused row {token_id}"
        return self.token(token_id).label

    def find(self, text: str) -> tuple[int, ...]:
        """The ids of the tokens that are this text, then of that with a space before it. NoSuchToken if none is."""
        vocabulary = self.vocabulary
        found = [
            vocabulary.special.get(text),
            *(vocabulary.ids.get(form.encode("utf-8", "replace")) for form in (text, f" {text}")),
        ]
        ids = tuple(at for at in found if at is not None)
        if not ids:
            raise NoSuchToken(f"No single token of {vocabulary.name} is {text!r}", "Encode it to see its tokens.")
        return ids

    def pieces(self, text: str) -> list[str]:
        """The text as the pre-tokenizer cuts it; no token crosses a cut."""
        return split(text, self.vocabulary.pattern)

    def merge_steps(self, piece: str) -> list[MergeStep]:
        """How merging builds one piece, step by step, from the bytes that have a token; see ``bpe.merge_steps``."""
        return merge_steps(
            piece.encode("utf-8", "replace").translate(None, self.vocabulary.missing_bytes), self.vocabulary.merges
        )

    def takes_whole(self, piece: str) -> bool:
        """Whether a piece is a token as it stands and is taken without merging."""
        vocabulary = self.vocabulary
        data = piece.encode("utf-8", "replace").translate(None, vocabulary.missing_bytes)
        return vocabulary.merges.whole and data in vocabulary.merges.ranks

    def _piece_ids(self, piece: bytes) -> list[int]:
        data = piece.translate(None, self.vocabulary.missing_bytes)
        if not data:
            return []
        if self._tiktoken is None:
            return [self.vocabulary.ids[part] for part in piece_parts(data, self.vocabulary.merges)]
        ranks = self._tiktoken._encode_single_piece(data)
        return ranks if self._id_of_rank is None else [self._id_of_rank[rank] for rank in ranks]

    def _segments(self, text: str, *, special: bool) -> list[tuple[str, int | None]]:
        """The text cut at its special tokens, with their ids; None for ordinary text."""
        segments: list[tuple[str, int | None]] = []
        end = 0
        for found in (self._special if special else self._always).finditer(text):
            segments += [(text[end : found.start()], None), (found[0], self.vocabulary.special[found[0]])]
            end = found.end()
        segments.append((text[end:], None))
        return [segment for segment in segments if segment[0]]

    def _begin(self, segments: list[tuple[str, int | None]], wanted: bool, notes: list[str]) -> list[int]:
        """The BOS to put before the text, if any: two of them would shift every position by one."""
        bos_id = self.vocabulary.bos_id
        if not wanted:
            return []
        if bos_id is None:
            notes.append("The vocabulary has no token that begins a text, so none was added.")
            return []
        if segments and segments[0][1] == bos_id:
            notes.append(f"The text already starts with {segments[0][0]}, so only one is kept.")
            return []
        return [bos_id]

    def _missing(self, data: bytes, position: int) -> list[MissingByte]:
        """The bytes of some text that have no token; ``position`` is where the text begins."""
        values = frozenset(self.vocabulary.missing_bytes)
        if values.isdisjoint(data):
            return []
        return [MissingByte(value=value, position=position + at) for at, value in enumerate(data) if value in values]


def _any_of(texts: Iterable[str]) -> regex.Pattern[str]:
    """An expression for the longest of some texts; for none of them, one that never matches."""
    longest_first = sorted(texts, key=len, reverse=True)
    return regex.compile("|".join(map(regex.escape, longest_first)) or r"(?!)")


def _natural(token_id: int) -> int:
    """The id itself; a negative one would count from the end of the vocabulary."""
    if token_id < 0:
        raise IndexError(token_id)
    return token_id


def _vocabulary(format: str, data: Mapping[str, object], rows: int | None) -> Vocabulary:
    match format:
        case "gguf":
            return vocabulary_from_gguf(data, rows=rows)
        case "tiktoken":
            path = data.get("path")
            if not isinstance(path, str | Path):
                raise BadValue(f"The path of the tiktoken file is {path!r}", "Name the file tokenizer.model.")
            return vocabulary_from_tiktoken(Path(path), name="Llama 3.1", rows=rows)
        case "huggingface":
            path, eos_ids = data.get("path"), data.get("eos_ids", ())
            if not isinstance(path, str | Path) or not isinstance(eos_ids, tuple):
                raise BadValue(f"The path of the tokenizer is {path!r}", "Name the file tokenizer.json.")
            return vocabulary_from_hugging_face(Path(path), eos_ids=eos_ids, rows=rows)
        case "openai":
            return openai_vocabulary(str(data.get("name")))
        case "none":
            raise UnsupportedModel(
                "The model's files hold no tokenizer (its format is 'none')",
                "Put its tokenizer.json or tokenizer.model beside the weights, or give token ids on the command line.",
            )
        case _:
            raise UnsupportedModel(
                f"The model's tokenizer is of format {format!r}; supported are 'gguf', 'huggingface' and 'tiktoken'",
                "Use a GGUF file, or Meta's checkpoint with its tokenizer.model.",
            )
