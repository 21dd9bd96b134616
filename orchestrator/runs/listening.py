"""The chat's side of runs."""

from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.address import Address, is_run
from orchestrator.domain.inputs import Command, FeatureClick, Input, ParsedInput, TextMessage
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.domain.run_inputs import RunAnswer, RunLeave, RunOrder, RunQuestion, RunStart
from orchestrator.domain.taint import Value
from orchestrator.language.request_words import RunWords, normalize_words, read_other_words, read_run_words
from orchestrator.language.text import split_foreign_text
from orchestrator.runs.doubts import ask_which
from orchestrator.runs.memo import format_args
from orchestrator.runs.questions import LEAVE, find_asked, is_answer_click, is_for_people
from orchestrator.runs.registry import Engines
from orchestrator.runs.titles import name_runs
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from orchestrator.turns.turn import admit_actor, build_click_toasts
from state.clock import generate_id
from state.events.base import DEFAULT_ENGINE
from state.events.runs import InputAwaited, InputTaken
from state.journal.async_store import AsyncStore
from state.journal.journal import load_state
from state.journal.run_index import PREFIX, RunFilter
from state.journal.store import InboxRow, Lane, OutboxRow

_MOST_RUNS: Final = 100


async def take_other_words(
    meant: RunWords, listener: tuple[str, str] | None, row: InboxRow, content: TextMessage, session: Session, tools: Tools
) -> bool:
    """Whether they are no answer.

    `listener` is the (id, run) of the question that takes words; leaving and going back need none.
    """
    question = listener if meant == "request" else await _find_newest(session.key, row.actor_key, tools.store)
    open_question = await find_asked(*question, tools.store) if question is not None else None
    if open_question is None or question is None:
        return False
    question_id, run = question
    words = normalize_words(content.text)
    option = next((number for number, label in enumerate(open_question.options) if normalize_words(label) == words), None)
    if "text" in open_question.takes and read_other_words(content.text, (*open_question.options, *open_question.words)) is None:
        return False
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return True
    if meant == "request":
        await ask_which(run, question_id, row, content, session, actor)
        return True
    if meant == "back" and option is None and not open_question.back:
        reply_row = outbox.build_reply_row(session.key, build_reply(Notice(code="run-no-way-back")), session.now)
        await session.commit(actor=actor.key, outbox=[reply_row], inbox_done=[row.id])
        return True
    if option is not None:  # the question takes no words, but these are those of a button
        run_input: RunAnswer | RunLeave = RunAnswer(question_id=question_id, option=option)
    elif meant == "back":
        run_input = RunAnswer(question_id=question_id, answer_kind="back")
    else:
        run_input = RunLeave(question_id=question_id)
    new = run_input.to_row(run, source=f"run-words:{row.id}", actor=row.actor, now=session.now)
    is_answered = isinstance(run_input, RunAnswer) and question_id in (session.state.listening or {})
    events = [InputTaken(question_id=question_id)] if is_answered else []  # whoever may not leave the run can still answer
    await session.commit(*events, actor=actor.key, inbox_done=[row.id], inbox_new=[new])
    return True


async def _find_newest(home: str, person: str, store: AsyncStore) -> tuple[str, str] | None:
    runs = await store.list_runs(RunFilter(home=home, statuses=("waiting",), limit=_MOST_RUNS))
    questions: list[tuple[str, str, str]] = []
    for row in runs:
        run = f"{PREFIX}{row.run_id}"
        state, _ = await store.read(load_state, run)
        waits = state.run.waits.values() if state.run is not None else ()
        questions += [(wait.since, wait.waits_for, run) for wait in waits if wait.on == "input" and person in wait.answers]
    return max(questions)[1:] if questions else None


ORDERS: Final = frozenset({"pause", "resume", "retry", "cancel"})
CARD_BUTTONS: Final = frozenset({"details", "check", "undo"})
"""Buttons of a card that do not decide it."""


async def note_question(row: InboxRow, session: Session, _tools: Tools) -> None:
    question = RunQuestion.model_validate(row.body)
    if question.is_over:
        known = question.question_id in (session.state.listening or {})
        events = [InputTaken(question_id=question.question_id)] if known else []
        await session.commit(*events, actor="system", inbox_done=[row.id])
        return
    event = InputAwaited(run=question.run, question_id=question.question_id, takes=list(question.takes), answers=list(question.answers))
    await session.commit(event, actor="system", inbox_done=[row.id])


async def take_message(message: ParsedInput, session: Session, tools: Tools, *, engines: Engines) -> bool:
    """Whether a run takes the words: the one that asked last.

    Words that can hardly be an answer do what they say instead.
    """
    row, content = message.row, message.content
    if not isinstance(content, TextMessage) or content.origin == "button" or content.is_request:
        return False
    if not (content.text or content.quoted) or content.engine != DEFAULT_ENGINE:  # nothing, or the words after a command
        return False
    listener = find_listener(session, row.actor_key, "text")
    meant = read_run_words(content.text) if is_for_people(session.key) and not content.quoted else None
    if meant is not None and await take_other_words(meant, listener, row, content, session, tools):
        return True
    if listener is None:
        return False
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return True
    question_id, run = listener
    own, pasted = split_foreign_text(content.text)
    foreign = "\n\n".join(part for part in (content.quoted, pasted) if part)
    answer = RunAnswer(question_id=question_id, text=own, quoted=foreign)
    outbox_rows = [*build_receipt("run-passed", run, session), *await _tell_choice(session, row.actor_key, run, tools, engines)]
    await session.commit(
        InputTaken(question_id=question_id),
        actor=actor.key,
        outbox=outbox_rows,
        inbox_done=[row.id],
        inbox_new=[build_input(answer, run, actor, session, source=f"run-answer:{row.id}")],
    )
    return True


async def _tell_choice(session: Session, person: str, run: str, tools: Tools, engines: Engines) -> list[OutboxRow]:
    """Only if other runs wait for words, too."""
    listening = (session.state.listening or {}).values()
    waiting = dict.fromkeys(listener.run for listener in listening if "text" in listener.takes and person in listener.answers)
    others = [key for key in waiting if key != run]
    if not others:
        return []
    ids = [key.removeprefix(PREFIX) for key in (run, others[-1])]
    names = await name_runs([row for run_id in ids for row in await tools.store.list_runs(RunFilter(run_id=run_id))], engines, tools.store)
    if len(names) != len(ids):
        return []
    chosen_name, waiting_name = (names[run_id].written for run_id in ids)
    notice = Notice(code="run-chosen", args={"taken": chosen_name, "waiting": waiting_name, "count": len(others)})
    return [outbox.build_reply_row(session.key, build_reply(notice), session.now)]


def find_listener(session: Session, person: str, takes: str) -> tuple[str, str] | None:
    """(question id, run) of the newest question that this person may answer so."""
    listening = reversed((session.state.listening or {}).items())
    return next(((key, listener.run) for key, listener in listening if takes in listener.takes and person in listener.answers), None)


async def take_click(row: InboxRow, session: Session, tools: Tools) -> None:
    """Words: ("run", run id, question id, option number or "leave"), ("run", run id, order), ("run", run id, card button, confirmation id).

    Cards open only in the run's own chat.
    """
    click = FeatureClick.model_validate(row.body)
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    _, run_id, *rest = (*click.words, "", "")
    runs = await tools.store.list_runs(RunFilter(run_id=run_id)) if is_run(f"{PREFIX}{run_id}") else []
    if not runs or (rest[0] in CARD_BUTTONS and runs[0].home != session.key):
        outdated = refuse_click(row, session, "card-outdated" if rest[0] in CARD_BUTTONS | ORDERS else "choice-outdated")
        await session.commit(actor=actor.key, outbox=outdated, inbox_done=[row.id])
        return
    outbox_rows: list[OutboxRow] = []
    match click.words:
        case (_, run_id, ("details" | "check") as name, card):
            run_input: Input = Command(name=name, confirmation_id=card)
            outbox_rows = build_click_toasts(row, session, Notice(code="lead-details-toast" if name == "details" else "toast-doing"))
        case (_, run_id, "undo", card):
            run_input = FeatureClick(words=("undo", card), callback_id=click.callback_id)
        case (_, run_id, order) if order in ORDERS:
            run_input = RunOrder(order=order, callback_id=click.callback_id)
        case (_, run_id, question_id, order) if order == LEAVE:
            run_input = RunLeave(question_id=question_id, callback_id=click.callback_id)
        case (_, run_id, question_id, option) if is_answer_click(click.words):
            run_input = RunAnswer(question_id=question_id, option=int(option), callback_id=click.callback_id)
        case _:
            outbox_rows = refuse_click(row, session, "choice-outdated")
            await session.commit(actor=actor.key, outbox=outbox_rows, inbox_done=[row.id])
            return
    outbox_rows = outbox_rows or build_receipt("run-passed", f"{PREFIX}{run_id}", session)
    new = build_input(run_input, f"run:{run_id}", actor, session, source=f"run-click:{row.id}")
    await session.commit(actor=actor.key, outbox=outbox_rows, inbox_done=[row.id], inbox_new=[new])


def refuse_click(row: InboxRow, session: Session, code: str) -> list[OutboxRow]:
    """A toast, or a message where each input is answered."""
    if Address.parse(session.key).is_pulled:
        return [outbox.build_reply_row(session.key, build_reply(Notice(code=code)), session.now)]
    return build_click_toasts(row, session, Notice(code=code))


def build_receipt(code: str, run: str, session: Session, **more: str) -> list[OutboxRow]:
    """Only where each input is answered."""
    if not Address.parse(session.key).is_pulled:
        return []
    notice = Notice(code=code, args={"run": run.removeprefix(PREFIX), **more})
    return [outbox.build_reply_row(session.key, build_reply(notice), session.now)]


def build_start(
    engine: str, definition: str, args: dict[str, Value], *, actor: Actor, home: str, session: Session, run_id: str = ""
) -> InboxRow:
    """A second input with the same `run_id` is ignored."""
    order = RunStart(engine=engine, definition=definition, home=home, args=format_args(args))
    key = f"run:{run_id or generate_id()}"
    return build_input(order, key, actor, session, source=f"start:{key}", lane="turn")


def build_input(new_input: Input, run: str, actor: Actor, session: Session, *, source: str, lane: Lane = "express") -> InboxRow:
    """For the session `run`, from a person in another session."""
    return new_input.to_row(run, source=source, actor=actor.model_dump(mode="json"), now=session.now, lane=lane)
