"""The chat template, against transformers rendering the same one."""

from collections.abc import Mapping
from dataclasses import asdict, replace

import pytest
from transformers.utils.chat_template_utils import render_jinja_template

from explorer.errors import BadValue, UnsupportedModel
from explorer.tokenizer.chat import Message, render_chat
from explorer.tokenizer.tokenizer import build_tokenizer
from explorer.tokenizer.vocabulary import Vocabulary

HELLO = (Message(role="user", content="Hello"),)
TALK = (
    Message(role="system", content="Be brief."),
    Message(role="user", content="What is 2 + 2? <b>&amp;</b> 🦙\n"),
    Message(role="assistant", content="4"),
    Message(role="user", content="And 3 + 3?"),
)
# Written for the test: what Llama 3's template is made of, a date included.
LIKE_LLAMA3 = (
    "{{- bos_token }}{% if not date_string is defined %}{% if strftime_now is defined %}"
    "{% set date_string = strftime_now('%d %b %Y') %}{% else %}{% set date_string = '26 Jul 2024' %}{% endif %}"
    "{% endif %}\n{%- if messages[0]['role'] == 'system' %}\n{%- set system = messages[0]['content']|trim %}\n"
    "{%- set messages = messages[1:] %}\n{%- else %}\n{%- set system = '' %}\n{%- endif %}\n"
    "{{- '<|start_header_id|>system<|end_header_id|>\n\nToday: ' + date_string + '\n\n' + system + '<|eot_id|>' }}\n"
    "{%- for message in messages %}{{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' }}"
    "{{- message['content'] | trim + '<|eot_id|>' }}{%- endfor %}\n"
    "{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
)


@pytest.fixture(scope="module")
def vocabulary(default_metadata: Mapping[str, object]) -> Vocabulary:
    return build_tokenizer("gguf", default_metadata).vocabulary


def theirs(vocabulary: Vocabulary, messages: tuple[Message, ...]) -> str:
    rendered, _ = render_jinja_template(
        [[asdict(message) for message in messages]],
        chat_template=vocabulary.chat_template,
        add_generation_prompt=True,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
    )
    return str(rendered[0])


@pytest.mark.parametrize("messages", [HELLO, TALK])
def test_the_models_own_template_is_rendered_as_by_transformers(
    vocabulary: Vocabulary, messages: tuple[Message, ...]
) -> None:
    assert render_chat(vocabulary, messages) == theirs(vocabulary, messages)


def test_a_template_like_llamas_takes_its_own_date_and_never_todays(vocabulary: Vocabulary) -> None:
    like = replace(vocabulary, chat_template=LIKE_LLAMA3)
    text = render_chat(like, TALK)
    assert "Today: 26 Jul 2024" in text
    assert text.endswith("And 3 + 3?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n")
    assert text.startswith("<|im_start|><|start_header_id|>system")  # this vocabulary's begin-of-text token


def test_the_special_tokens_of_a_conversation_are_single_tokens(default_metadata: Mapping[str, object]) -> None:
    tokenizer = build_tokenizer("gguf", default_metadata)
    encoding = tokenizer.encode(render_chat(tokenizer.vocabulary, HELLO), special=True, bos=False)
    labels = [token.label for token in encoding.tokens]
    assert labels.count("<|im_start|>") == 3  # system, user, assistant
    assert labels.count("<|im_end|>") == 2


def test_a_model_without_a_template_is_refused_by_name(vocabulary: Vocabulary) -> None:
    with pytest.raises(UnsupportedModel, match="has no chat template"):
        render_chat(replace(vocabulary, chat_template=None), HELLO)


def test_what_the_template_refuses_is_said_in_its_words(vocabulary: Vocabulary) -> None:
    strict = replace(vocabulary, chat_template="{{ raise_exception('system first') }}")
    with pytest.raises(BadValue, match="system first"):
        render_chat(strict, HELLO)


@pytest.mark.parametrize(
    "template",
    [
        "{% for %}",
        "{{ messages.nothing.more }}",
        "{{ 1 // 0 }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.append(1) }}",
        "x" * 200_001,
    ],
)
def test_a_broken_or_hostile_template_is_refused(vocabulary: Vocabulary, template: str) -> None:
    with pytest.raises(UnsupportedModel, match="does not run"):
        render_chat(replace(vocabulary, chat_template=template), HELLO)
