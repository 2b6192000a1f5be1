"""GPT-2's spelling of bytes as printable characters, in which GGUF and Hugging Face files store byte-level tokens.

``bytes_to_unicode`` in encoder.py of the GPT-2 release: printable Latin-1 stands for itself, the other 68 bytes take
the code points from U+0100 on, so that a space is written Ġ.
"""

_PRINTABLE = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]

CHARACTER_OF = {byte: chr(byte) for byte in _PRINTABLE} | {byte: chr(256 + place) for place, byte in enumerate(_OTHERS)}
_BYTE_OF = {character: byte for byte, character in CHARACTER_OF.items()}


def spelled_bytes(spelling: str) -> bytes | None:
    """The bytes that a stored token stands for; None if it is not written in this alphabet."""
    try:
        return bytes([_BYTE_OF[character] for character in spelling])
    except KeyError:
        return None
