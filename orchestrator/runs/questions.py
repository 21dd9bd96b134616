"""A run's questions to people: how a question is asked, who may answer it, and how the answer is read.

The question stands in the chat of the run. Its buttons name the run, so a click is passed on to the run at once. An answer in words, or a
contact or file, comes as an ordinary message of the chat: the chat remembers that a run listens there (`InputAwaited`).
"""

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
from orchestrator.language.run_words import read_run_words
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
"""The first word of the buttons of runs: ("run", run id, question id, number of the option)."""
LEAVE: Final = "leave"
"""The last word of the button below a question that ends the run, in place of the number; and the order that it gives."""
LEAVE_LABEL: Final = "run-leave"
"""The code of the sentence on it."""
_DIGITS: Final = 4
"""How many digits the number of a button may have."""
_ID_LENGTH: Final = 8
_PAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question that waits for its answer, as the run asked it, and how often it was shown once more."""

    asked: RunWaits
    shown: int = 0


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question that is being asked: its id, the event that stores the wait, and the message with its buttons."""

    question_id: str
    event: RunWaits
    reply: Reply
    ask: Ask
    until: datetime | None
    """When the run goes on without an answer; None for never."""


def open_question(key: str, node: str, ask: Ask, *, owner: str, home: str, now: datetime) -> Question:
    """Return the question that the node of the run `key` asks in the chat `home`; by default only the owner of the run may answer it."""
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
    """Return whether people answer the questions in this chat. To a client that fetches its messages every word is a value."""
    return not Address.parse(home).is_pulled


def _has_way_out(ask: Ask) -> bool:
    """Return whether a button of the question ends the run, or is called so by its author."""
    return any(option.leaves for option in (*ask.options, *ask.controls)) or any(
        read_run_words(option.label) == "leave" for option in ask.options
    )


def build_buttons(key: str, asked: RunWaits) -> tuple[Action, ...]:
    """Return the buttons below a question of the run `key`: its options, the program's own, and one that ends the run."""
    place = (BUTTON, key.removeprefix("run:"), asked.waits_for)
    labels = [
        *(Notice(code="run-option", args={"label": label}) for label in asked.options),
        *(Notice(code=code) for code in asked.controls),
    ]
    leave = (Action(words=(*place, LEAVE), label=Notice(code=LEAVE_LABEL)),) if asked.leave else ()
    return (*(Action(words=(*place, str(number)), label=label) for number, label in enumerate(labels)), *leave)


def build_stored_reply(asked: RunWaits, *notices: Notice, actions: tuple[Action, ...] = ()) -> Reply:
    """Return the message of a question that was asked before, with these sentences behind it and these buttons."""
    parts = (Text(text=asked.question),) if asked.question else ()
    own = (Notice.model_validate(asked.notice),) if asked.notice else ()
    return Reply(parts=parts, notices=(*own, *notices), actions=actions)


def name_message(key: str, node: str, shown: int) -> str:
    """Return the key of the message that has the buttons of a question now, after it was shown once more so often."""
    return f"{key}:{node}:again:{shown}" if shown else f"{key}:{node}"


async def read_questions(key: str, run: RunState, store: AsyncStore) -> list[OpenQuestion]:
    """Return the open questions of the run, in the order in which they were asked."""
    waited = {node: wait.waits_for for node, wait in run.waits.items() if wait.on == "input"}
    found: dict[str, RunWaits] = {}
    shown: dict[str, int] = {}
    after = 0
    while waited and (page := await store.read_events(key, after=after, limit=_PAGE)):
        run_waits = (RunWaits.from_data(one.data) for one in page if one.type == RunWaits.__name__)
        found |= {run_wait.node: run_wait for run_wait in run_waits if waited.get(run_wait.node) == run_wait.waits_for}
        shown |= {one.data["node"]: one.data["number"] for one in page if one.type == QuestionShown.__name__}
        after = page[-1].seq
    return [OpenQuestion(asked, shown.get(node, 0)) for node, asked in found.items()]


def _say_question(ask: Ask) -> tuple[tuple[Text, ...], tuple[Notice, ...]]:
    return (Text(text=ask.text),) if ask.text else (), tuple(notice for notice in (ask.notice, ask.heading) if notice is not None)


def close_question(ask: Ask, heard: Heard) -> Reply:
    """Return the message of a question that has been answered: without buttons, and with what was chosen."""
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
    """Return the program's own button that was pressed, None if it was another one."""
    return next((control for control in ask.controls if control.value == heard.value.data), None)


def mark_choice(heard: Heard, ask: Ask, foreign: ForeignTexts) -> Heard:
    """Return the answer; a button's value that its label did not show comes from wherever it came from before, too.

    What the person saw and chose is their wish, whoever wrote it.
    """
    if heard.kind != "option" or _find_control(ask, heard) is not None:
        return heard
    data = heard.value.data
    chosen = next((option for option in ask.options if option.value == data), None)
    if chosen is None or (isinstance(data, str | int | float) and str(data) in chosen.label):
        return heard
    return replace(heard, value=foreign.mark(Value(data, heard.value.origins | chosen.origins)))


def build_question_row(key: str, home: str, question: Question, *, now: datetime) -> InboxRow:
    """Return the input that tells the chat `home` that the run `key` waits there for an answer."""
    run_question = RunQuestion(
        run=key, question_id=question.question_id, takes=tuple(sorted(question.ask.takes)), answers=tuple(question.event.answers)
    )
    return run_question.to_row(home, source=f"asks:{key}:{question.question_id}", actor=SYSTEM, now=now)


def build_reopening_row(key: str, home: str, wait: RunWait, cause: str, *, now: datetime) -> InboxRow:
    """Return the input that tells the chat `home` that the run `key` still waits for words there.

    The chat stopped listening when it passed the input `cause` on to the run, which did not take it.
    """
    run_question = RunQuestion(run=key, question_id=wait.waits_for, takes=tuple(wait.takes), answers=tuple(wait.answers))
    return run_question.to_row(home, source=f"asks:{key}:{wait.waits_for}:{cause}", actor=SYSTEM, now=now)


def build_closing_row(key: str, home: str, question_id: str, *, now: datetime) -> InboxRow:
    """Return the input that tells the chat `home` that the run `key` does not wait for an answer to this question any more."""
    run_question = RunQuestion(run=key, question_id=question_id, is_over=True)
    return run_question.to_row(home, source=f"asked:{key}:{question_id}", actor=SYSTEM, now=now)


async def find_asked(question_id: str, run: str, store: AsyncStore) -> RunWaits | None:
    """Return the question as the run `run` asked it, None if it is not open any more."""
    state, _ = await store.read(load_state, run)
    if state.run is None or state.run.is_over:
        return None
    open_questions = await read_questions(run, state.run, store)
    return next((question.asked for question in open_questions if question.asked.waits_for == question_id), None)


def is_answer_click(words: Sequence[str]) -> bool:
    """Return whether the words of a button are those of an answer to a question: ("run", run id, question id, number of the option)."""
    match words:
        case (str(name), _, str(question_id), str(option)):
            return name == BUTTON and len(question_id) == _ID_LENGTH and option.isascii() and option.isdecimal() and len(option) <= _DIGITS
    return False


def is_answer_fitting(run_answer: RunAnswer, wait: RunWait) -> bool:
    """Return whether the question that the node waits for offers this button, or takes an answer of this kind."""
    if run_answer.option is not None:
        return 0 <= run_answer.option < wait.options
    return wait.back if run_answer.answer_kind == "back" else run_answer.answer_kind in wait.takes


def store_answer(run_answer: RunAnswer) -> tuple[dict[str, Any], Origins]:
    """Return (what a RunWoken event stores of an answer, where it comes from).

    Text of somebody else in a message makes the whole answer foreign text. So does a file, and a contact that is not the person's own.
    """
    kind = "option" if run_answer.option is not None else run_answer.answer_kind
    stored: dict[str, Any] = {"kind": kind, "option": run_answer.option, "text": run_answer.text, "sent": dict(run_answer.sent)}
    if run_answer.quoted:
        stored["text"] = "\n\n".join(part for part in (run_answer.text, run_answer.quoted) if part)
    foreign = bool(run_answer.quoted) or kind in {"photo", "document"} or (kind == "contact" and not run_answer.is_own_contact)
    return stored, frozenset({"person", "prose"}) if foreign else frozenset({"person"})


def build_answer(woken: RunWoken, ask: Ask) -> Heard:
    """Return the answer that a RunWoken event holds, for the question `ask`."""
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
