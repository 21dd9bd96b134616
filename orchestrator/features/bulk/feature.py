"""The button that takes back all that an approved change of many records has done: a card of its own."""

from typing import Final

from orchestrator.domain.bulk import BULK, BULK_ENGINE, PROGRESS, UNDO_ALL
from orchestrator.domain.effect import Effect, Pending, Provenance
from orchestrator.domain.inputs import UNDO, FeatureClick
from orchestrator.domain.outputs import Action, Notice, Reply, build_reply
from orchestrator.gate.call.modes import resolve_mode
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Feature, Tools
from orchestrator.turns.turn import admit_actor, build_click_toasts
from state.journal.store import InboxRow

_UNDO: Final = "undo"
_WORDS: Final = 3


async def propose_undo(row: InboxRow, session: Session, tools: Tools) -> None:
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    words = FeatureClick.model_validate(row.body).words
    run = words[1] if len(words) == _WORDS and words[2] == _UNDO else ""
    effect = Effect(
        kind="bulk",
        method=UNDO_ALL,
        params={"run": run or "none"},
        proposed_by=UNDO,
        provenance=Provenance(message=None),  # the person pressed the button of this very change
        slot=f"undo:{BULK}:{run}:{row.id}",
    )
    mode = resolve_mode(tools.mode, actor)
    result = await tools.gate.submit(effect, actor=actor, mode=mode, turn_id=row.id, ledger=session)
    if isinstance(result, Pending):
        notice = Notice(code="undo-shown")
        rows = [outbox.build_card_row(session.key, session.state.cards[result.confirmation_id], session.now)]
    else:
        notice = result.reason or Notice(code="undo-none")
        rows = [outbox.build_reply_row(session.key, build_reply(notice), session.now)]
    await session.commit(actor=actor.key, outbox=[*build_click_toasts(row, session, notice), *rows], inbox_done=[row.id])


async def tell_what_was_done(run: str, tools: Tools) -> tuple[str, Reply] | None:
    """In the place of its progress, with the way back; of what is still unclear only the last look at the portal knows."""
    done = await tools.gate.deps.bulk.read_run(run)
    if done is None:
        return None
    made = sum(item.key in done.keys for item in done.file.items)
    notice = Notice(code="bulk-stopped", args={"made": made, "count": len(done.file.items), "verb": done.file.verb, "of": done.file.of})
    undo = Action(words=(BULK, run, _UNDO), label=Notice(code="bulk-undo"))
    return PROGRESS, Reply(notices=(notice,), actions=(undo,) if made and done.file.verb != "add" else ())


FEATURE: Final = Feature(buttons={BULK: propose_undo}, last_words={BULK_ENGINE: tell_what_was_done})
