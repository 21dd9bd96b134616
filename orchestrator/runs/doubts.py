"""Asks whether a person's words answer a run's question or are a new request.

Until a button is pressed, the words are in the journal and the question is open.
"""

from typing import Final
from uuid import uuid5

from orchestrator.domain.actor import Actor
from orchestrator.domain.address import is_run
from orchestrator.domain.inputs import FeatureClick, TextMessage
from orchestrator.domain.outputs import Action, Notice, Reply
from orchestrator.domain.run_inputs import RunAnswer, RunAskAgain
from orchestrator.language.text import split_foreign_text
from orchestrator.runs.questions import build_buttons, build_stored_reply, find_asked, name_message, read_questions
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from orchestrator.turns.turn import admit_actor, build_click_toasts
from state.clock import UUID_NAMESPACE
from state.events.runs import AnswerDoubted, InputTaken, QuestionShown
from state.journal.store import InboxRow

DOUBT: Final = "doubt"
"""Buttons: ("doubt", id of the input with the words, "answer" or "request")."""
_CHOICES: Final = ("answer", "request")
_LOOK_BACK: Final = 2000
"""Events of the chat searched for the words."""
_LONGEST_SHOWN: Final = 200


async def ask_which(run: str, question_id: str, row: InboxRow, content: TextMessage, session: Session, actor: Actor) -> None:
    doubted = AnswerDoubted(cause=row.id, run=run, question_id=question_id, by=actor.key, body=content.to_json())
    actions = tuple(Action(words=(DOUBT, row.id, choice), label=Notice(code=f"run-doubt-{choice}")) for choice in _CHOICES)
    reply = Reply(notices=(_build_notice(content),), actions=actions)
    reply_row = outbox.build_reply_row(session.key, reply, session.now, key=f"{DOUBT}:{row.id}")
    await session.commit(doubted, actor=actor.key, outbox=[reply_row], inbox_done=[row.id])


def _build_notice(content: TextMessage) -> Notice:
    text = " ".join(content.text.split())
    return Notice(code="run-doubt", args={"text": text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"})


async def take_doubt(row: InboxRow, session: Session, tools: Tools) -> None:
    """The words go on once; a second press changes nothing."""
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    _, cause, choice, *_ = (*FeatureClick.model_validate(row.body).words, "", "")
    doubted = await _find_doubted(cause, session, tools)
    source = f"{DOUBT}:{session.key}:{cause}"
    refusal = await _find_refusal(doubted, choice, source, actor, tools)
    if doubted is None or refusal:
        toasts = build_click_toasts(row, session, Notice(code=refusal or "choice-outdated"))
        await session.commit(actor=actor.key, outbox=toasts, inbox_done=[row.id])
        return
    content = TextMessage.model_validate(doubted.body)
    if choice == "answer":
        own, pasted = split_foreign_text(content.text)
        answer = RunAnswer(question_id=doubted.question_id, text=own, quoted=pasted)
        news = [answer.to_row(doubted.run, source=source, actor=row.actor, now=session.now)]
    else:
        news = _build_request(doubted, content, source, row, session)
    is_listening = choice == "answer" and doubted.question_id in (session.state.listening or {})
    chosen = Notice(code="chosen", args={"label": Notice(code=f"run-doubt-{choice}").model_dump()})
    reply_row = outbox.build_reply_row(session.key, Reply(notices=(_build_notice(content), chosen)), session.now, key=f"{DOUBT}:{cause}")
    await session.commit(
        *([InputTaken(question_id=doubted.question_id)] if is_listening else []),
        actor=actor.key,
        outbox=[*build_click_toasts(row, session, Notice(code="toast-doing")), reply_row],
        inbox_done=[row.id],
        inbox_new=news,
    )


async def _find_doubted(cause: str, session: Session, tools: Tools) -> AnswerDoubted | None:
    await session.flush()
    events = await tools.store.read_events(session.stream, max(0, session.seq - _LOOK_BACK), limit=_LOOK_BACK)
    doubts = (
        AnswerDoubted.from_data(event.data) for event in reversed(events) if event.type == AnswerDoubted.__name__ and not event.erased
    )
    return next((doubted for doubted in doubts if doubted.cause == cause), None)


async def _find_refusal(doubted: AnswerDoubted | None, choice: str, source: str, actor: Actor, tools: Tools) -> str:
    """Empty if the press is valid."""
    if doubted is None or choice not in _CHOICES:
        return "choice-outdated"
    if doubted.by != actor.key:
        return "choice-not-yours"
    if await tools.store.find_inbox(source) is not None:
        return "toast-already"
    is_late = choice == "answer" and await find_asked(doubted.question_id, doubted.run, tools.store) is None
    return "choice-outdated" if is_late else ""


def _build_request(doubted: AnswerDoubted, content: TextMessage, source: str, row: InboxRow, session: Session) -> list[InboxRow]:
    """The turn with the words, and the question again."""
    request = content.model_copy(update={"is_request": True, "pieces": content.pieces or 1})
    turn = request.to_row(
        session.key,
        source=source,
        actor=row.actor,
        now=session.now,
        lane="turn",
        row_id=uuid5(UUID_NAMESPACE, source).hex,
    )
    again = RunAskAgain(run=doubted.run, question_id=doubted.question_id)
    return [turn, again.to_row(session.key, source=f"{source}:again", actor=row.actor, now=session.now, lane="turn")]


async def ask_again(row: InboxRow, session: Session, tools: Tools) -> None:
    """The message before loses its buttons; nothing if it is answered meanwhile."""
    order, run = RunAskAgain.model_validate(row.body), session.state.run
    if not is_run(session.key):
        passed = order.to_row(order.run, source=f"{row.source}:run", actor=row.actor, now=session.now)
        await session.commit(actor=row.actor_key, inbox_done=[row.id], inbox_new=[passed])
        return
    await session.flush()
    questions = await read_questions(session.key, run, tools.store) if run is not None and not run.is_over else []
    question = next((one for one in questions if one.asked.waits_for == order.question_id), None)
    if run is None or question is None:
        await session.commit(actor="system", inbox_done=[row.id])
        return
    question_asked, times = question.asked, question.shown
    before = build_stored_reply(question_asked, Notice(code="run-question-below"))
    after = build_stored_reply(question_asked, actions=build_buttons(session.key, question_asked))
    locale = Actor.model_validate(run.actor).locale if run.actor else "ru"
    outbox_rows = [
        outbox.build_reply_row(
            session.key,
            tools.guard.clean_reply(reply, "", locale=locale),
            session.now,
            key=name_message(session.key, question_asked.node, number),
        )
        for number, reply in ((times, before), (times + 1, after))
    ]
    event = QuestionShown(node=question_asked.node, number=times + 1)
    await session.commit(event, actor=run.owner or "system", outbox=outbox_rows, inbox_done=[row.id])
