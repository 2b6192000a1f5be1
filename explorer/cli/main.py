"""The commands: what each is called, what it takes, and which function answers it."""

import argparse
from collections.abc import Callable, Sequence

from explorer.cli.arguments import add_model, add_sampler, add_text, text_argument
from explorer.cli.output import Json, one_line, print_json, print_note
from explorer.config import ConfigError
from explorer.errors import Busy, Cancelled, DownloadFailed, ExplorerError, ModelNotReady, NotFinite
from explorer.settings import SettingError

FAILED, BAD_INPUT = 1, 2
FAILURES = (DownloadFailed, NotFinite, Busy, Cancelled, ModelNotReady)

Command = Callable[[argparse.Namespace], Json]


def main(arguments: Sequence[str]) -> int:
    """Answer one command line; the exit code: 0, 1 when something failed, 2 for bad input."""
    parsed = parser().parse_args(_joined(arguments))
    try:
        print_json(parsed.command(parsed))
    except (ExplorerError, ConfigError, SettingError) as error:
        print_note(f"explorer: {one_line(error)}")
        return FAILED if isinstance(error, FAILURES) else BAD_INPUT
    return 0


def parser() -> argparse.ArgumentParser:
    """Every command with its options. The functions behind them are imported when they run."""
    top = argparse.ArgumentParser(
        prog="python -m explorer", description="The Llama explorer without a browser. Answers are JSON on stdout."
    )
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, about: str, answer: Command) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=about, description=about)
        added.set_defaults(command=answer)
        return added

    command("models", "every known model, and which have weights here", _models)
    fetch = command("fetch", "bring a model's weights to this machine", _fetch)
    fetch.add_argument("model", nargs="?", help="OWNER/NAME on the Hugging Face hub (default: the default model)")
    command("doctor", "what is installed, which device, which models, and what is wrong", _doctor)

    _add_reading(command("tokens", "how a text is cut into tokens", _tokens))
    _add_reading(command("merges", "how every piece of a text is merged, step by step", _merges))
    decode = command("decode", "the text of token ids", _decode)
    decode.add_argument("ids", nargs="+", type=int, metavar="ID")
    _add_vocabulary(decode)

    trace = command("trace", "run the model on a text and keep what is asked for", _trace)
    add_text(trace, optional=True)
    trace.add_argument("--ids", help="token ids instead of a text, such as 1,2,3")
    trace.add_argument("--tap", nargs="+", action="extend", default=[], metavar="ADDRESS", help="tensors to keep")
    trace.add_argument("--out", metavar="FILE", help="write the kept tensors to this safetensors file")
    trace.add_argument("--logits", action="store_true", help="print the last token's scores whole")
    add_model(trace)

    attention = command("attention", "how much every token reads of every other", _attention)
    add_text(attention)
    attention.add_argument("--layer", type=int, required=True)
    attention.add_argument("--head", type=int, help="one query head (default: every head of the layer)")
    add_model(attention)
    feed_forward = command("feed-forward", "the neurons that fire most, and what they speak for", _feed_forward)
    add_text(feed_forward)
    feed_forward.add_argument("--layer", type=int, required=True)
    feed_forward.add_argument("--token", type=int, help="the place of the token (default: the last)")
    feed_forward.add_argument("--count", type=int, default=10, help="how many neurons (default 10)")
    add_model(feed_forward)

    sample = command("sample", "the next-token distribution, what the sampler keeps of it, and draws", _sample)
    add_text(sample, optional=True)
    sample.add_argument("--logits", help="scores instead of a text, such as 2,1,0")
    add_sampler(sample)
    sample.add_argument("--draws", type=int, default=1, help="how many draws to make (default 1)")
    add_model(sample)

    generate = command("generate", "one token after the other, with the key/value cache", _generate)
    add_text(generate)
    generate.add_argument("--max-tokens", type=int, default=24, help="how many at most (default 24)")
    generate.add_argument("--chat", action="store_true", help="put the text into the model's chat template")
    generate.add_argument("--system", help="a system message before it, with --chat")
    add_sampler(generate)
    add_model(generate)

    lens = command("lens", "what the model would answer after each layer", _lens)
    add_text(lens)
    lens.add_argument("--count", type=int, default=1, help="how many of the likeliest tokens (default 1)")
    lens.add_argument("--without-norm", action="store_true", help="leave out the final norm")
    add_model(lens)

    attribution = command("attribution", "which writes raised the score of a token", _attribution)
    add_text(attribution)
    attribution.add_argument("--token", type=int, metavar="ID", help="whose score (default: the likeliest)")
    attribution.add_argument("--against", type=int, metavar="ID", help="subtract the score of this one")
    attribution.add_argument("--layer", type=int, help="list the heads of this layer, too")
    add_model(attribution)

    rope = command("rope", "the rotation speeds of a model", _rope)
    rope.add_argument("--model", help="the id of a model, or the path of its file or folder")
    rope.add_argument("--config", metavar="FILE", help="a config.json or params.json instead")

    count = command("count", "the parameters, operations and cache of a model, counted from its sizes", _count)
    count.add_argument("--model", help="the id of a model, or the path of its file or folder")
    count.add_argument("--config", metavar="FILE", help="a config.json or params.json instead, of any counted family")
    count.add_argument("--context", type=int, metavar="N", help="tokens in the context (default: the model's own)")
    count.add_argument("--dtype", default="bfloat16", help="bfloat16 (default), float32, float16, int8 or int4")
    return top


def _add_reading(added: argparse.ArgumentParser) -> None:
    add_text(added)
    _add_vocabulary(added)
    added.add_argument("--bos", action=argparse.BooleanOptionalAction, help="begin with the begin-of-text token")
    added.add_argument("--special", action="store_true", help="read the names of special tokens as those tokens")


def _add_vocabulary(added: argparse.ArgumentParser) -> None:
    added.add_argument("--encoding", help="a vocabulary without a model: llama3, cl100k_base or o200k_base")
    added.add_argument("--model", help="the model whose tokenizer to use (default: the default model)")


def _joined(arguments: Sequence[str]) -> list[str]:
    """``--logits -1,2`` as one word: argparse would take the value for an option."""
    words = list(arguments)
    if words[:1] == ["sample"] and "--logits" in words[:-1]:
        place = words.index("--logits")
        words[place : place + 2] = [f"--logits={words[place + 1]}"]
    return words


def _models(_: argparse.Namespace) -> Json:
    from explorer.cli.models import models

    return models()


def _fetch(given: argparse.Namespace) -> Json:
    from explorer.cli.models import fetch_model

    return fetch_model(given.model)


def _doctor(_: argparse.Namespace) -> Json:
    from explorer.cli.doctor import doctor

    return doctor()


def _tokens(given: argparse.Namespace) -> Json:
    from explorer.cli.tokens import tokens

    return tokens(given.text, encoding=given.encoding, model=given.model, bos=given.bos, special=given.special)


def _merges(given: argparse.Namespace) -> Json:
    from explorer.cli.merges import merges

    return merges(given.text, encoding=given.encoding, model=given.model, bos=given.bos, special=given.special)


def _decode(given: argparse.Namespace) -> Json:
    from explorer.cli.tokens import decode

    return decode(given.ids, encoding=given.encoding, model=given.model)


def _trace(given: argparse.Namespace) -> Json:
    from explorer.cli.trace import trace

    return trace(given)


def _attention(given: argparse.Namespace) -> Json:
    from explorer.cli.attention import attention
    from explorer.cli.session import session_from

    return attention(session_from(given), text_argument(given.text), layer=given.layer, head=given.head)


def _feed_forward(given: argparse.Namespace) -> Json:
    from explorer.cli.feed_forward import feed_forward
    from explorer.cli.session import session_from

    return feed_forward(
        session_from(given), text_argument(given.text), layer=given.layer, token=given.token, count=given.count
    )


def _sample(given: argparse.Namespace) -> Json:
    from explorer.cli.sample import sample

    return sample(given)


def _generate(given: argparse.Namespace) -> Json:
    from explorer.cli.generate import generate

    return generate(given)


def _lens(given: argparse.Namespace) -> Json:
    from explorer.cli.lens import lens

    return lens(given)


def _attribution(given: argparse.Namespace) -> Json:
    from explorer.cli.attribution import attribution

    return attribution(given)


def _rope(given: argparse.Namespace) -> Json:
    from explorer.cli.rope import rope

    return rope(model=given.model, config=given.config)


def _count(given: argparse.Namespace) -> Json:
    from explorer.cli.count import count

    return count(model=given.model, config=given.config, context=given.context, dtype=given.dtype)
