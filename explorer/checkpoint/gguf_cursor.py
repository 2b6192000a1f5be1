"""Reading the numbers and texts of a GGUF header one after the other, never past the end of the file."""

import struct
from typing import BinaryIO

import numpy as np

from explorer.errors import BadModelFile

MEBIBYTE = 1 << 20
MAX_HEADER_BYTES = 64 * MEBIBYTE
MAX_TEXT_BYTES = MEBIBYTE
MAX_ELEMENTS = 2 * MEBIBYTE  # over all arrays; the vocabulary and merges of Llama 4 need less than half of it

STRING, ARRAY = 8, 9
# The format's number of a scalar type -> its code in numpy, little-endian.
SCALARS = {
    number: np.dtype(code)
    for number, code in {
        0: "u1",
        1: "i1",
        2: "<u2",
        3: "<i2",
        4: "<u4",
        5: "<i4",
        6: "<f4",
        7: "?",
        10: "<u8",
        11: "<i8",
        12: "<f8",
    }.items()
}
LENGTH = struct.Struct("<Q")


class GGUFCursor:
    """A place in the header that moves forward.

    ``what`` in every method names what is being read, for the message of the error. Raises ``BadModelFile`` when the
    file ends first, or asks for more than a real header needs.
    """

    def __init__(self, file: BinaryIO, size: int, file_name: str) -> None:
        self.position = 0
        self._file = file
        self._size = size
        self._file_name = file_name
        self._data = b""
        self._elements = 0

    def raw(self, count: int, what: str) -> bytes:
        """The next ``count`` bytes."""
        start = self._advance(count, what)
        return self._data[start : self.position]

    def uint32(self, what: str) -> int:
        """The next number of 32 bits."""
        return int.from_bytes(self.raw(4, what), "little")

    def uint64(self, what: str) -> int:
        """The next number of 64 bits."""
        return int.from_bytes(self.raw(8, what), "little")

    def count(self, what: str, limit: int) -> int:
        """The next number of 64 bits, which counts things that follow."""
        count = self.uint64(what)
        if count > limit:
            raise self._refused(f"{what} is {count}, expected at most {limit}")
        return count

    def text(self, what: str) -> str:
        """The next text, which the file precedes by its length."""
        return self._texts(1, what)[0]

    def value(self, number: int, what: str) -> object:
        """The next metadata value, of the type that ``number`` says: a number, bool or text, or a list of them."""
        if number == STRING:
            return self.text(what)
        if number != ARRAY:
            return self._numbers(number, 1, what)[0]
        number = self.uint32(f"the type of the elements of {what}")
        count = self.uint64(f"the length of {what}")
        if number == ARRAY:
            raise self._refused(f"{what} is an array of arrays, expected an array of numbers or texts")
        self._check_array(count, LENGTH.size if number == STRING else self._scalar(number, what).itemsize, what)
        return self._texts(count, what) if number == STRING else self._numbers(number, count, what)

    def _check_array(self, count: int, element_bytes: int, what: str) -> None:
        end = self.position + count * element_bytes
        if end > self._size:
            raise self._truncated(end, what)
        self._elements += count
        if self._elements > MAX_ELEMENTS:
            raise self._refused(
                f"with {what} the metadata arrays have {self._elements} elements in all, expected at "
                f"most {MAX_ELEMENTS}"
            )

    def _numbers(self, number: int, count: int, what: str) -> list[object]:
        scalar = self._scalar(number, what)
        start = self._advance(count * scalar.itemsize, what)
        numbers: list[object] = np.frombuffer(self._data, scalar, count, start).tolist()
        return numbers

    def _scalar(self, number: int, what: str) -> np.dtype[np.generic]:
        if number not in SCALARS:
            raise self._refused(f"{what} is of the unknown type {number}, expected 0 to 12")
        return SCALARS[number]

    def _texts(self, count: int, what: str) -> list[str]:
        """``count`` texts. One loop without calls: a vocabulary and its merges are hundreds of thousands of them."""
        texts = []
        data, position, length_at = self._data, self.position, LENGTH.unpack_from
        try:
            for _ in range(count):
                if position + LENGTH.size > len(data):
                    self._fill(position + LENGTH.size, what)
                    data = self._data
                (length,) = length_at(data, position)
                position += LENGTH.size
                end = position + length
                if end > len(data):
                    self._check_text(length, end, what)
                    self._fill(end, what)
                    data = self._data
                texts.append(data[position:end].decode())
                position = end
        except UnicodeDecodeError as error:
            raise self._refused(f"{what} holds text that is not UTF-8") from error
        self.position = position
        return texts

    def _check_text(self, length: int, end: int, what: str) -> None:
        if end > self._size:
            raise self._truncated(end, what)
        if length > MAX_TEXT_BYTES:
            raise self._refused(f"{what} is a text of {length} bytes, expected at most {MAX_TEXT_BYTES}")

    def _advance(self, count: int, what: str) -> int:
        start = self.position
        self._fill(start + count, what)
        self.position = start + count
        return start

    def _fill(self, end: int, what: str) -> None:
        """Have the bytes up to ``end`` in memory: a MiB at first, then twice as much each time."""
        if end <= len(self._data):
            return
        if end > self._size:
            raise self._truncated(end, what)
        if end > MAX_HEADER_BYTES:
            raise self._refused(f"{what} ends at byte {end}, expected a header of at most {MAX_HEADER_BYTES} bytes")
        missing = max(end - len(self._data), len(self._data), MEBIBYTE)
        self._data += self._file.read(missing)
        if end > len(self._data):
            raise self._truncated(end, what)

    def _truncated(self, end: int, what: str) -> BadModelFile:
        return BadModelFile(
            f"{self._file_name}: the file is truncated: {what} needs bytes up to {end}, the file has {self._size}",
            "Download or copy the file again.",
        )

    def _refused(self, found: str) -> BadModelFile:
        return BadModelFile(
            f"{self._file_name}: {found}", "The file is damaged: download it again from a source you trust."
        )
