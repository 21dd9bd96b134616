import re
from contextlib import aclosing
from typing import Final

from orchestrator.domain.inputs import UNDO, ParsedInput, TextMessage
from orchestrator.features.undo import handlers
from orchestrator.features.undo.handlers import propose_undos
from orchestrator.gate.undo.undo_policy import parse_undo_slot
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import fold
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Feature, Tools
from orchestrator.turns.turn import admit_actor
from state.events.base import DEFAULT_ENGINE
from state.events.calls import CallStarted, CallSucceeded
from state.journal.journal import load_state
from state.journal.run_index import PREFIX, RunFilter
from state.model.session_state import SessionState

_WORDS: Final = load_lexicon("answers")
_ASKED: Final = re.compile(rf"(?<!\w)(?:{_WORDS.join_patterns('undo', 'wish')})(?!\w)")
"""Questions that «отменить» may answer."""
_WISH: Final = re.compile(
    rf"(?:(?:{_WORDS.join_patterns('undo', 'before')})[ ,]+)*(?:{_WORDS.join_patterns('undo', 'wish')})"
    rf"(?: (?:{_WORDS.join_patterns('undo', 'object')}))*(?:[ ,]+(?:{_WORDS.join_patterns('value', 'after')}))?"
)
_LONGEST: Final = 60
_MOST: Final = 5


def is_undo_wish(text: str) -> bool:
    """«отмени», «верни как было» right after a change propose the same as the button. No model is asked."""
    words = fold(text).strip(" .!\n")
    return len(words) <= _LONGEST and _WISH.fullmatch(words) is not None


async def take_message(message: ParsedInput, session: Session, tools: Tools) -> bool:
    """Not while a card, question or run waits: «отмени» may mean that."""
    row, content = message.row, message.content
    if not isinstance(content, TextMessage) or not _is_plain(content) or not is_undo_wish(content.text):
        return False
    if _waits_for_words(session.state):
        return False
    effect_ids = await _find_last_changes(row.actor_key, session, tools)
    if not 0 < len(effect_ids) <= _MOST:
        return False
    actor = await admit_actor(row, session, tools)
    if actor is not None:
        await propose_undos(effect_ids, actor, row, session, tools)
    return True


def _is_plain(message: TextMessage) -> bool:
    beside = message.quoted or message.cited or message.answers_others or message.attached
    return not beside and message.origin != "button" and message.engine == DEFAULT_ENGINE


def _waits_for_words(state: SessionState) -> bool:
    last = state.history[-1] if state.history else None
    is_question = last is not None and last.role == "assistant" and "?" in last.text and _ASKED.search(fold(last.text)) is not None
    return is_question or bool(state.question or state.listening or any(card.is_waiting for card in state.cards.values()))


async def _find_last_changes(person: str, session: Session, tools: Tools) -> list[str]:
    """The last first; empty if anything was said or done since. Raises StoreError."""
    done: dict[str, str] = {}
    async with aclosing(tools.store.iterate_back(session.stream, session.seq)) as pages:
        async for page in pages:
            for stored in reversed(page):
                match stored.type:
                    case "CallSucceeded":
                        call = CallSucceeded.from_data(stored.data)
                        if call.call_class != "R":
                            done[call.effect_id] = ""
                    case "CallStarted" if stored.data["effect_id"] in done:
                        started = CallStarted.from_data(stored.data)
                        done[started.effect_id] = started.requested_by if not parse_undo_slot(started.slot) else ""
                    case "MessageReceived":
                        is_last = set(done.values()) == {person} and not await _may_mean_run(person, stored.ts, session, tools)
                        return list(done) if is_last else []
                    case "ConversationCleared":
                        return []
                    case _:
                        continue
    return []


async def _may_mean_run(person: str, moment: str, session: Session, tools: Tools) -> bool:
    """What a run changed since, or its question, also one that takes a button only. Raises StoreError."""
    store = tools.store
    if any(run.updated_at > moment for run in await store.list_runs(RunFilter(home=session.key))):
        return True
    for run in await store.list_runs(RunFilter(home=session.key, statuses=("waiting",))):
        state, _ = await store.read(load_state, f"{PREFIX}{run.run_id}")
        waits = state.run.waits.values() if state.run is not None else ()
        if any(wait.on == "input" and person in wait.answers for wait in waits):
            return True
    return False


def build_feature() -> Feature:
    return Feature(buttons={UNDO: handlers.propose_undo}, message_takers=(take_message,))
