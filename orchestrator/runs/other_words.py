"""What a person means who types something else than an answer; the author's words come first."""

from typing import Final

from orchestrator.domain.inputs import TextMessage
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.domain.run_inputs import RunAnswer, RunLeave
from orchestrator.language.run_words import RunWords, normalize_words, read_other_words
from orchestrator.runs.doubts import ask_which
from orchestrator.runs.questions import find_asked
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from orchestrator.turns.turn import admit_actor
from state.events.runs import InputTaken
from state.journal.async_store import AsyncStore
from state.journal.journal import load_state
from state.journal.run_index import PREFIX, RunFilter
from state.journal.store import InboxRow

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
