"""What the commands take from the command line, and in which words they refuse it."""

import argparse
import math
import sys

from explorer.errors import BadValue


def text_argument(text: str) -> str:
    """The text itself, or with ``-`` what comes on stdin, exactly. Raises ``BadValue`` for what is not UTF-8."""
    try:
        if text == "-":
            return sys.stdin.buffer.read().decode()
        return text.encode("utf-8", "surrogateescape").decode()
    except UnicodeDecodeError as error:
        raise BadValue(f"The text is not UTF-8: {error.reason} at byte {error.start}.", "Give UTF-8 text.") from None


def ids_argument(ids: str) -> tuple[int, ...]:
    """Token ids from "1,2,3". Raises ``BadValue``."""
    try:
        return tuple(int(each) for each in ids.split(",") if each.strip())
    except ValueError:
        raise BadValue(f"--ids is {ids!r}.", "Give whole numbers with commas, such as --ids 1,2,3.") from None


def floats_argument(name: str, values: str) -> list[float]:
    """Numbers from "2,1,0.5". Raises ``BadValue``."""
    try:
        return [float(each) for each in values.split(",")]
    except ValueError:
        raise BadValue(f"{name} is {values!r}.", f"Give numbers with commas, such as {name} 2,1,0.") from None


def in_range(name: str, value: int, size: int) -> int:
    """``value`` if it counts one of ``size`` things from 0. Raises ``BadValue``."""
    if not 0 <= value < size:
        raise BadValue(f"{name} is {value}.", f"Give a number from 0 to {size - 1}.")
    return value


def finite(name: str, value: float) -> float:
    """``value`` unless it is NaN or infinite. Raises ``BadValue``."""
    if not math.isfinite(value):
        raise BadValue(f"{name} is {value}.", "Give a finite number.")
    return value


def add_model(parser: argparse.ArgumentParser) -> None:
    """The options that choose a model and how it runs."""
    parser.add_argument("--model", help="the id of a model, or a path (default: the default model)")
    parser.add_argument("--device", default="cpu", help="cpu (default), auto, cuda or cuda:N")
    parser.add_argument("--dtype", default="float32", help="float32 (default), bfloat16, float16 or auto")


def add_text(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """The text that a command works on."""
    words = "the text, or - for stdin (UTF-8, taken exactly)"
    if optional:
        parser.add_argument("text", nargs="?", help=words)
    else:
        parser.add_argument("text", help=words)


def add_sampler(parser: argparse.ArgumentParser) -> None:
    """The controls of the sampler."""
    parser.add_argument("--temperature", type=float, default=1.0, help="0 is greedy (default 1)")
    parser.add_argument("--top-k", type=int, default=0, help="0 is off (default)")
    parser.add_argument("--top-p", type=float, default=1.0, help="1 is off (default)")
    parser.add_argument("--min-p", type=float, default=0.0, help="0 is off (default)")
    parser.add_argument("--seed", type=int, default=0, help="start of the sequence of draws (default 0)")
