"""Steps of a turn over the person's own changes: undo.find lists them, undo.propose makes the cards of the button."""

from collections.abc import Sequence
from typing import Final

from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.effect import Provenance
from orchestrator.domain.outputs import Notice
from orchestrator.domain.undo_request import OwnChange, UndoAnswer, UndoRequest
from orchestrator.features.undo.own_changes import MOST, FoundChange, Reach, describe_changes, find_bulk_run, find_own_changes
from orchestrator.features.undo.proposals import UndoProposals, UndoWish
from orchestrator.gate.call.serialization import build_doubt_args
from orchestrator.gate.gate import Gate
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import RefreshActor
from state.journal.async_store import AsyncStore

_TOLD: Final = 5
"""Reasons that are told one by one."""
_NOTHING_LEFT: Final = frozenset({"undo-already-so", "undo-nothing"})
"""Not told beside what comes back."""


class UndoSteps:
    def __init__(self, gate: Gate, store: AsyncStore, present: RefreshActor) -> None:
        self._deps = gate.deps
        self._store = store
        self._proposals = UndoProposals(gate, present)

    async def find(self, request: UndoRequest, actor: Actor, session: Session) -> UndoAnswer:
        """Their changes, the newest first. Raises StoreError."""
        found = await self._find(request, actor, session)
        changes = await self._describe(found[:MOST], actor, session)
        return UndoAnswer(changes=changes, left_out=max(0, len(found) - MOST))

    async def propose(
        self, request: UndoRequest, actor: Actor, session: Session, *, mode: Mode, turn_id: str, provenance: Provenance
    ) -> UndoAnswer:
        """Cards that wait for the person, and why the rest cannot be taken back. Raises StoreError."""
        found = [one for one in await self._find(request, actor, session) if not one.is_undone]
        chosen = {one.row.effect_id: one for one in found[:MOST]}
        wish = UndoWish(actor=actor, session=session, turn_id=turn_id, mode=mode, may_be_elsewhere=True, provenance=provenance)
        runs = {effect_id: run for effect_id, one in chosen.items() if (run := find_bulk_run(one.row))}
        answers = await self._proposals.propose([effect_id for effect_id in chosen if effect_id not in runs], wish)
        answers += [await self._proposals.propose_bulk(effect_id, run, wish, record=request.record) for effect_id, run in runs.items()]
        requests = [row for answer in answers for row in answer.requests]
        if requests:
            await session.commit(actor=actor.key, outbox=requests)
        cards = dict.fromkeys(answer.card for answer in answers if answer.card)
        against = [answer for answer in answers if not answer.card and not (cards and answer.notice.code in _NOTHING_LEFT)]
        refused = [_explain(chosen[answer.effect_id], answer.notice) for answer in against]
        left_out = max(0, len(found) - MOST)
        notices = [*refused[:_TOLD], *([Notice(code="undo-more-not", args={"count": more})] if (more := len(refused) - _TOLD) > 0 else [])]
        notices += [Notice(code="undo-further", args={"count": left_out})] if left_out else []
        changes = await self._describe(list(chosen.values()), actor, session)
        return UndoAnswer(changes=changes, cards=list(cards), notices=notices, left_out=left_out)

    async def _describe(self, changes: Sequence[FoundChange], actor: Actor, session: Session) -> list[OwnChange]:
        return await describe_changes(changes, actor, names=self._deps.names, catalogue=self._deps.catalogue, now=session.now)

    async def _find(self, request: UndoRequest, actor: Actor, session: Session) -> list[FoundChange]:
        """In a group only what was done there, so that others read nothing of a private chat."""
        stream = "" if session.key == actor.key else session.stream
        await session.flush()
        reach = Reach(stream=stream, store=self._store, read_run=self._deps.bulk.read_run)
        return await find_own_changes(request, actor, reach, now=session.now)


def _explain(change: FoundChange, notice: Notice) -> Notice:
    """Which of several changes a reason is about."""
    return Notice(code="undo-not-taken", args={**build_doubt_args("", change.row.call), "why": notice.model_dump(mode="json")})
