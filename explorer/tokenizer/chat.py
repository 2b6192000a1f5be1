"""A conversation as the one text that an instruct model was trained to continue."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Literal, NoReturn

from jinja2 import Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from explorer.errors import BadValue, UnsupportedModel
from explorer.tokenizer.vocabulary import Vocabulary

MAX_TEMPLATE_CHARACTERS = 200_000


@dataclass(frozen=True, kw_only=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


def render_chat(vocabulary: Vocabulary, messages: Sequence[Message]) -> str:
    """``messages`` in the model's own template, up to where its answer begins; encode it without a BOS of its own.

    The template is a program from the model's file: it runs in jinja2's sandbox, as in transformers'
    ``apply_chat_template``. It is given no clock, so that the same conversation always makes the same text: templates
    that name a day then name one of their own. Raises ``UnsupportedModel`` for a model without a template that runs,
    and ``BadValue`` for a conversation that the template refuses.
    """
    source = vocabulary.chat_template
    if source is None:
        raise UnsupportedModel(
            f"{vocabulary.name} has no chat template: its files hold none.", "Continue the raw text instead."
        )
    try:
        return _template(source).render(
            messages=[asdict(message) for message in messages],
            bos_token=_text(vocabulary, vocabulary.bos_id),
            eos_token=_text(vocabulary, vocabulary.eos_ids[0] if vocabulary.eos_ids else None),
            add_generation_prompt=True,
        )
    except TemplateError as error:
        raise UnsupportedModel(
            f"The chat template of {vocabulary.name} does not run: {error.message}.", "Continue the raw text instead."
        ) from error
    except (TypeError, ValueError, ArithmeticError, LookupError, RecursionError) as error:
        raise UnsupportedModel(
            f"The chat template of {vocabulary.name} does not run: {error}.", "Continue the raw text instead."
        ) from error


@cache
def _template(source: str) -> Template:
    if len(source) > MAX_TEMPLATE_CHARACTERS:
        raise TemplateError(f"it has {len(source):,} characters, and {MAX_TEMPLATE_CHARACTERS:,} are taken")
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.globals["raise_exception"] = _refuse
    environment.filters["tojson"] = _json
    return environment.from_string(source)


def _refuse(message: str) -> NoReturn:
    raise BadValue(f"The model's chat template refuses this: {message}", "Change the conversation.")


def _json(value: object, indent: int | None = None) -> str:
    """As transformers: jinja2's own filter escapes what has a meaning in HTML."""
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _text(vocabulary: Vocabulary, token_id: int | None) -> str:
    token = None if token_id is None else vocabulary.tokens[token_id]
    return "" if token is None else token.decode("utf-8", "replace")
