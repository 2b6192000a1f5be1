"""A generation under way: its controls, its tokens as they come, and the way to stop it."""

from dataclasses import replace

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from explorer.engine.engine import Phase, Ticket
from explorer.engine.generation import generate
from explorer.tokenizer.chat import Message, render_chat
from explorer.tokenizer.encoding import Encoding
from explorer.trace.generation import Choice, Generation, GenerationRequest, Step, StopReason
from explorer.trace.trace import Trace, TraceRequest
from explorer.ui import resources, state
from explorer.ui.kept import kept
from explorer.ui.navigation import PAGES
from explorer.ui.page import Page
from explorer.ui.state import bound
from explorer.ui.view import MAX_DRAWS, MAX_SEED, UnusableValueError
from explorer.ui.waiting import model_progress, named_errors, wait_for

LONGEST = 512
NOT_OF_A_TEXT = ("tour", "cost", "generation")  # pages that a step of a generation has nothing to say to


def prompt_controls(page: Page) -> None:
    """Whether the text is continued as it is, or answered in a conversation."""
    has_template = page.tokenizer.vocabulary.chat_template is not None
    st.toggle("Chat template", disabled=not has_template, **bound("chat"))
    st.caption(
        "Puts your text into the template that the model was trained on, with its special tokens, and lets it answer."
        if has_template
        else "The files of this model hold no chat template: your text is continued as it is."
    )
    if page.view.chat and has_template:
        st.text_input("System message", max_chars=200, placeholder="the template's own", **bound("system"))
        st.caption("What the model is told before the conversation. Empty: what the template says by itself.")


def prompt_of(page: Page) -> tuple[str, Encoding]:
    """The text that the model continues, and its tokens. Ends the page where the template does not run."""
    view, vocabulary = page.view, page.tokenizer.vocabulary
    if not view.chat or vocabulary.chat_template is None:
        return view.prompt, page.encoding
    system = [Message(role="system", content=view.system)] if view.system else []
    with named_errors():
        text = render_chat(vocabulary, [*system, Message(role="user", content=view.prompt)])
        return text, page.tokenizer.encode(text, special=True, bos=False)


def length_control() -> None:
    """How many tokens at most."""
    st.number_input("Tokens at most", min_value=1, max_value=LONGEST, step=8, **bound("limit"))
    st.caption("The model ends earlier when it draws one of its end tokens.")


def seed_control() -> None:
    """The start of the sequence of draws."""
    st.number_input("Seed", min_value=0, max_value=MAX_SEED, step=1, **bound("seed"))
    st.caption("Token number n takes the n-th number of the sequence, so a link always brings the same text.")


def until_ready(page: Page) -> None:
    """End the page, with progress, while the model is on its way."""
    engine, model = resources.engine(), page.view.model
    with named_errors():
        if engine.state(model).phase is Phase.READY:
            return
    model_progress(engine, model)
    st.stop()


def context_of(page: Page) -> int:
    """How many tokens the model reads at most here."""
    return resources.engine().card(page.view.model).max_tokens


def run_generation(page: Page, request: GenerationRequest) -> Generation | None:
    """Generate with every token shown as it comes; None where it was stopped before the first.

    Everything that is asked of the engine is asked one step at a time: a click on Stop, a change of any control or a
    closed tab ends the generation before its next step.
    """
    halt, engine = page.view.halt, resources.engine()
    if halt == 0:
        return None
    asked = request if halt < 0 else replace(request, limit=min(request.limit, halt))
    slot, text, button = st.empty(), st.empty(), st.empty()
    made: list[Choice] = []
    button.button("Stop", key="stop", icon=":material/stop_circle:", on_click=lambda: state.go(halt=len(made)))

    def told(choice: Choice) -> None:
        made.append(choice)
        so_far = page.tokenizer.decode(each.token_id for each in made)
        text.text(f"{so_far}▌\n\n{len(made)} of at most {asked.limit} tokens")

    def wait(ticket: Ticket[Step]) -> Step:
        return wait_for(lambda _session: ticket, slot, "Reading the prompt" if not made else "Generating")

    with named_errors():
        generation = kept(asked, lambda: generate(engine, asked, _session_name(), wait=wait, told=told))
    text.empty()
    button.empty()
    return generation


def why_ended(page: Page, generation: Generation | None) -> tuple[str, str]:
    """The reason in two or three words, and a sentence on it."""
    halt, limit = page.view.halt, page.view.limit
    if generation is None:
        return "stopped by you", "Before the first token."
    last = page.tokenizer.label(generation.choices[-1].token_id)
    match generation.reason:
        case StopReason.END_TOKEN:
            return "end token", f"The model drew {last}: nothing more is to come."
        case StopReason.CONTEXT:
            return "context full", f"The model reads {generation.request.context:,} tokens at most."
        case _ if 0 <= halt < limit:
            return "stopped by you", f"After {halt} token{'' if halt == 1 else 's'}."
        case _:
            return "limit", f"{limit} tokens were asked for."


def after_buttons(page: Page, generation: Generation | None) -> None:
    """What can be done with a generation that has ended."""
    view = page.view
    row = st.container(horizontal=True, key="generation-buttons")
    row.button(
        "Another text",
        key="another",
        icon=":material/casino:",
        on_click=lambda: state.go(seed=(view.seed + 1) % MAX_SEED, halt=-1, at=-1, forced=""),
    )
    if 0 <= view.halt < view.limit:
        row.button("Go on", key="go-on", icon=":material/play_arrow:", on_click=lambda: state.go(halt=-1, at=-1))
    elif generation is not None and generation.reason is StopReason.LIMIT and view.limit < LONGEST:
        longer = min(LONGEST, 2 * view.limit)
        row.button(
            f"Up to {longer} tokens",
            key="longer",
            icon=":material/more_horiz:",
            on_click=lambda: state.go(limit=longer),
        )
    if view.forced:
        row.button(
            "Undo my choices",
            key="undo",
            icon=":material/undo:",
            on_click=lambda: state.go(forced="", halt=-1),
        )


def branch(at: int, token_id: int, taken: int) -> None:
    """Take ``token_id`` at step ``at`` instead of ``taken``; what came after is drawn anew. For callbacks."""
    if token_id == taken:
        return
    kept = {step: choice for step, choice in state.current().choices.items() if step < at}
    forced = ".".join(f"{step}-{choice}" for step, choice in sorted((kept | {at: token_id}).items()))
    state.go(forced=forced, at=at, halt=-1)


def whole_pass(page: Page, token_ids: tuple[int, ...]) -> Trace:
    """The same tokens read again without a cache, with the last one scored."""
    engine = resources.engine()
    request = TraceRequest(
        model=page.view.model,
        token_ids=token_ids,
        taps=frozenset({"tap.logits"}),
        scored=(len(token_ids) - 1,),
    )
    with named_errors():
        return wait_for(lambda session: engine.submit(request, session), st.empty(), "Reading all tokens again")


def links_at_step(page: Page, prompt: str, generation: Generation, at: int) -> None:
    """The ways to the other pages with the text as it stood before step ``at``."""
    new = generation.token_ids[:at]
    text = prompt + page.tokenizer.decode(new)
    special = (
        page.view.chat or page.view.special or any(str(page.tokenizer.token(each).kind) == "special" for each in new)
    )
    bos = "off" if page.view.chat else page.view.bos
    try:
        view = page.view.changed(prompt=text, special=special, bos=bos, token=-1, draw=min(at + 1, MAX_DRAWS))
    except UnusableValueError:
        st.caption("The text at this step is too long for a link.")
        return
    row = st.container(horizontal=True, key="at-step")
    for name, entry in PAGES.items():
        if name in NOT_OF_A_TEXT:
            continue
        row.page_link(entry.file, label=entry.title, icon=entry.icon, query_params=view.params(), width="content")
    if page.tokenizer.encode(text, special=special, bos=view.with_bos).ids != generation.before(at):
        st.caption("Read as a text, these tokens are cut a little differently: the numbers there will differ slightly.")


def _session_name() -> str:
    """A name of its own in the queue: a step must not replace what the page itself waits for."""
    context = get_script_run_ctx()
    return f"{context.session_id if context else 'no-session'}/generation"
