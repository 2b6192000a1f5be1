"""The generation page, on the default model."""

from explorer.cli.generate import generated
from explorer.cli.session import Session
from tests.pages.conftest import Open
from tests.pages.drawings import facts, told

FILE = "pages/generation.py"
PROMPT = "The capital of France is"


def test_a_link_brings_the_text_that_the_command_line_makes(open_app: Open, default_session: Session) -> None:
    made = generated(default_session, PROMPT, limit=6, seed=5, temperature=0.9)
    app = open_app(FILE, prompt=PROMPT, limit="6", seed="5", temperature="0.9")
    strip = told(app, "written")
    assert strip["captions"] == [str(token_id) for token_id in made.token_ids]
    assert strip["selected"] == 5
    said = facts(app, "generation-facts")
    assert said["Why it ended"]["value"] == "limit"
    assert said["Cache, all layers"]["value"] == f"{made.choices[-1].step.cache_bytes:,} bytes"


def test_cached_and_uncached_logits_are_compared(open_app: Open) -> None:
    app = open_app(FILE, prompt=PROMPT, limit="6", seed="5", at="4")
    said = next(caption.value for caption in app.caption if caption.value.startswith("With and without the cache"))
    assert "reading all 9 tokens again" in said
    assert float(said.rpartition("±")[2].rstrip(".")) < 1e-3


def test_a_turn_taken_by_hand_stands_in_the_link(open_app: Open, default_session: Session) -> None:
    made = generated(default_session, PROMPT, limit=6, seed=5, forced={2: 260})
    app = open_app(FILE, prompt=PROMPT, limit="6", seed="5", forced="2-260", at="2")
    assert told(app, "written")["captions"] == [str(token_id) for token_id in made.token_ids]
    assert told(app, "written")["captions"][2] == "260"
    assert any("(taken by hand)" in text.value for text in app.text)
    next(button for button in app.button if button.label == "Undo my choices").click().run()
    assert "forced" not in app.query_params


def test_a_generation_that_was_stopped_says_so_and_can_go_on(open_app: Open) -> None:
    app = open_app(FILE, prompt=PROMPT, limit="6", seed="5", halt="3")
    assert len(told(app, "written")["labels"]) == 3
    assert facts(app, "generation-facts")["Why it ended"]["value"] == "stopped by you"
    next(button for button in app.button if button.label == "Go on").click().run()
    assert len(told(app, "written")["labels"]) == 6


def test_the_chat_template_is_read_with_its_special_tokens(open_app: Open, default_session: Session) -> None:
    app = open_app(FILE, prompt="Say yes.", chat="1", system="Be brief.", limit="16", temperature="0")
    labels = told(app, "tokens")["labels"]
    assert labels.count("<|im_start|>") == 3
    made = generated(default_session, "Say yes.", limit=16, temperature=0, chat=True, system="Be brief.")
    assert told(app, "written")["captions"] == [str(token_id) for token_id in made.token_ids]


def test_an_end_token_is_named(open_app: Open, default_session: Session) -> None:
    app = open_app(FILE, prompt="Say yes.", chat="1", limit="120", temperature="0")
    said = facts(app, "generation-facts")["Why it ended"]
    assert said["value"] == "end token"
    assert "<|im_end|>" in said["note"]


def test_an_unusable_choice_in_a_link_is_told(open_app: Open) -> None:
    app = open_app(FILE, prompt=PROMPT, forced="2:260", limit="2")
    assert any("forced must look like" in toast.value for toast in app.toast)
