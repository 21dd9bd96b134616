from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from orchestrator.domain.address import Address
from orchestrator.domain.inputs import SYSTEM
from orchestrator.domain.outputs import Action, Notice, Reply, Text
from orchestrator.domain.run_inputs import RunAnswer, RunQuestion
from orchestrator.domain.taint import Origins, Value
from orchestrator.engines.runs import Ask, Heard, Option
from orchestrator.language.request_words import read_run_words
from orchestrator.runs.foreign_texts import ForeignTexts
from orchestrator.runs.nodes import MAX_OPTIONS
from state.canonical import hash_text
from state.clock import format_iso
from state.events.runs import QuestionShown, RunWaits, RunWoken
from state.journal.async_store import AsyncStore
from state.journal.journal import load_state
from state.journal.store import InboxRow
from state.model.run_state import RunState, RunWait

BUTTON: Final = "run"
"""Buttons: ("run", run id, question id, option number)."""
LEAVE: Final = "leave"
"""Last word of the button that ends the run, in place of the number; also its order."""
LEAVE_LABEL: Final = "run-leave"
_DIGITS: Final = 4
_ID_LENGTH: Final = 8
_PAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """`shown` is how often it was shown again."""

    asked: RunWaits
    shown: int = 0


@dataclass(frozen=True, kw_only=True)
class Question:
    question_id: str
    event: RunWaits
    reply: Reply
    ask: Ask
    until: datetime | None
    """When the run goes on without an answer; None: never."""


def open_question(key: str, node: str, ask: Ask, *, owner: str, home: str, now: datetime) -> Question:
    """Only `owner` may answer, unless `ask` names others."""
    question_id = hash_text(f"{key}/{node}")[:_ID_LENGTH]
    until = now + ask.timeout if ask.timeout is not None else None
    answers = list(ask.answers or (owner,))
    event = RunWaits(
        node=node,
        on="input",
        waits_for=question_id,
        until=format_iso(until) if until is not None else "",
        answers=answers,
        takes=sorted(ask.takes),
        question=ask.text,
        options=[option.label for option in ask.options],
        controls=[control.label for control in ask.controls],
        words=sorted(word for word in ask.words if read_run_words(word)) if is_for_people(home) else [],
        back=ask.can_go_back,
        leave=is_for_people(home) and len(ask.options) + len(ask.controls) < MAX_OPTIONS and not _has_way_out(ask),
        notice=ask.notice.model_dump(mode="json") if ask.notice is not None else {},
    )
    buttons = build_buttons(key, event)
    parts, notices = _say_question(ask)
    hints = (Notice(code="run-how-to-leave"),) if ask.is_again and is_for_people(home) else ()
    reply = Reply(parts=parts, notices=(*notices, *hints), actions=buttons)
    return Question(question_id=question_id, event=event, reply=reply, ask=ask, until=until)


def is_for_people(home: str) -> bool:
    """False for a client that fetches its messages: there every word is a value."""
    return not Address.parse(home).is_pulled


def _has_way_out(ask: Ask) -> bool:
    """Also a button that its author calls so."""
    return any(option.leaves for option in (*ask.options, *ask.controls)) or any(
        read_run_words(option.label) == "leave" for option in ask.options
    )


def build_buttons(key: str, run_wait: RunWaits) -> tuple[Action, ...]:
    """Options, the program's own, and one that ends the run."""
    place = (BUTTON, key.removeprefix("run:"), run_wait.waits_for)
    labels = [
        *(Notice(code="run-option", args={"label": label}) for label in run_wait.options),
        *(Notice(code=code) for code in run_wait.controls),
    ]
    leave = (Action(words=(*place, LEAVE), label=Notice(code=LEAVE_LABEL)),) if run_wait.leave else ()
    return (*(Action(words=(*place, str(number)), label=label) for number, label in enumerate(labels)), *leave)


def build_stored_reply(run_wait: RunWaits, *notices: Notice, actions: tuple[Action, ...] = ()) -> Reply:
    """Of a question that was asked before."""
    parts = (Text(text=run_wait.question),) if run_wait.question else ()
    own = (Notice.model_validate(run_wait.notice),) if run_wait.notice else ()
    return Reply(parts=parts, notices=(*own, *notices), actions=actions)


def name_message(key: str, node: str, times: int) -> str:
    """The message that has the buttons after `times` repeats."""
    return f"{key}:{node}:again:{times}" if times else f"{key}:{node}"


async def read_questions(key: str, run: RunState, store: AsyncStore) -> list[OpenQuestion]:
    waited = {node: wait.waits_for for node, wait in run.waits.items() if wait.on == "input"}
    waits_by_node: dict[str, RunWaits] = {}
    times_by_node: dict[str, int] = {}
    after = 0
    while waited and (page := await store.read_events(key, after=after, limit=_PAGE)):
        run_waits = (RunWaits.from_data(one.data) for one in page if one.type == RunWaits.__name__)
        waits_by_node |= {run_wait.node: run_wait for run_wait in run_waits if waited.get(run_wait.node) == run_wait.waits_for}
        times_by_node |= {one.data["node"]: one.data["number"] for one in page if one.type == QuestionShown.__name__}
        after = page[-1].seq
    return [OpenQuestion(asked, times_by_node.get(node, 0)) for node, asked in waits_by_node.items()]


def _say_question(ask: Ask) -> tuple[tuple[Text, ...], tuple[Notice, ...]]:
    return (Text(text=ask.text),) if ask.text else (), tuple(notice for notice in (ask.notice, ask.heading) if notice is not None)


def close_question(ask: Ask, heard: Heard) -> Reply:
    """Without buttons, with what was chosen."""
    parts, notices = _say_question(ask)
    match heard.kind:
        case "option":
            label: object = next((option.label for option in ask.options if option.value == heard.value.data), "")
            if (control := _find_control(ask, heard)) is not None:
                label = Notice(code=control.label).model_dump()
            return Reply(parts=parts, notices=(*notices, Notice(code="chosen", args={"label": label})))
        case "timeout" | "back":
            code = "run-question-late" if heard.kind == "timeout" else "run-went-back"
            return Reply(parts=parts, notices=(*notices, Notice(code=code)))
        case "contact" | "photo" | "document":
            name = str((heard.value.data or {}).get("name", ""))
            return Reply(parts=parts, notices=(*notices, Notice(code=f"run-answer-{heard.kind}", args={"name": name})))
        case _:
            return Reply(parts=parts, notices=notices)


def _find_control(ask: Ask, heard: Heard) -> Option | None:
    """The program's own button that was pressed, None for another."""
    return next((control for control in ask.controls if control.value == heard.value.data), None)


def mark_choice(heard: Heard, ask: Ask, foreign: ForeignTexts) -> Heard:
    """A button's value that its label did not show keeps its earlier origins; what the person saw is their wish."""
    if heard.kind != "option" or _find_control(ask, heard) is not None:
        return heard
    data = heard.value.data
    chosen = next((option for option in ask.options if option.value == data), None)
    if chosen is None or (isinstance(data, str | int | float) and str(data) in chosen.label):
        return heard
    return replace(heard, value=foreign.mark(Value(data, heard.value.origins | chosen.origins)))


def build_question_row(key: str, home: str, question: Question, *, now: datetime) -> InboxRow:
    """Tells the chat `home` that the run waits there."""
    run_question = RunQuestion(
        run=key, question_id=question.question_id, takes=tuple(sorted(question.ask.takes)), answers=tuple(question.event.answers)
    )
    return run_question.to_row(home, source=f"asks:{key}:{question.question_id}", actor=SYSTEM, now=now)


def build_reopening_row(key: str, home: str, wait: RunWait, cause: str, *, now: datetime) -> InboxRow:
    """It stopped listening when it passed on the input `cause`, which the run did not take."""
    run_question = RunQuestion(run=key, question_id=wait.waits_for, takes=tuple(wait.takes), answers=tuple(wait.answers))
    return run_question.to_row(home, source=f"asks:{key}:{wait.waits_for}:{cause}", actor=SYSTEM, now=now)


def build_closing_row(key: str, home: str, question_id: str, *, now: datetime) -> InboxRow:
    """Tells the chat `home` that the run waits no more."""
    run_question = RunQuestion(run=key, question_id=question_id, is_over=True)
    return run_question.to_row(home, source=f"asked:{key}:{question_id}", actor=SYSTEM, now=now)


async def find_asked(question_id: str, run: str, store: AsyncStore) -> RunWaits | None:
    """None if it is not open any more."""
    state, _ = await store.read(load_state, run)
    if state.run is None or state.run.is_over:
        return None
    open_questions = await read_questions(run, state.run, store)
    return next((question.asked for question in open_questions if question.asked.waits_for == question_id), None)


def is_answer_click(words: Sequence[str]) -> bool:
    """("run", run id, question id, option number)."""
    match words:
        case (str(name), _, str(question_id), str(option)):
            return name == BUTTON and len(question_id) == _ID_LENGTH and option.isascii() and option.isdecimal() and len(option) <= _DIGITS
    return False


def is_answer_fitting(run_answer: RunAnswer, wait: RunWait) -> bool:
    if run_answer.option is not None:
        return 0 <= run_answer.option < wait.options
    return wait.back if run_answer.answer_kind == "back" else run_answer.answer_kind in wait.takes


def store_answer(run_answer: RunAnswer) -> tuple[dict[str, Any], Origins]:
    """(what RunWoken stores, its origins).

    Quoted text, a file or a contact not the person's own makes the answer foreign text.
    """
    kind = "option" if run_answer.option is not None else run_answer.answer_kind
    stored: dict[str, Any] = {"kind": kind, "option": run_answer.option, "text": run_answer.text, "sent": dict(run_answer.sent)}
    if run_answer.quoted:
        stored["text"] = "\n\n".join(part for part in (run_answer.text, run_answer.quoted) if part)
    foreign = bool(run_answer.quoted) or kind in {"photo", "document"} or (kind == "contact" and not run_answer.is_own_contact)
    return stored, frozenset({"person", "prose"}) if foreign else frozenset({"person"})


def build_answer(woken: RunWoken, ask: Ask) -> Heard:
    """As an answer to `ask`."""
    origins: Origins = frozenset(woken.origins)  # type: ignore[arg-type]  # origins are stored as text
    stored = woken.value if isinstance(woken.value, Mapping) else {}
    kind = str(stored.get("kind", "timeout"))
    match kind:
        case "option":
            number = stored.get("option")
            options = (*ask.options, *ask.controls)
            chosen = options[number].value if isinstance(number, int) and 0 <= number < len(options) else None
            return Heard(kind="option", value=Value(chosen, origins), by=woken.by)
        case "text":
            return Heard(kind="text", value=Value(str(stored.get("text", "")), origins), by=woken.by)
        case "contact" | "photo" | "document":
            return Heard(kind=kind, value=Value(stored.get("sent"), origins), by=woken.by)
        case "back":
            return Heard(kind="back", value=Value(None, origins), by=woken.by)
        case _:
            return Heard(kind="timeout", value=Value(None, origins))
