"""What a turn asks of the feature that takes changes back."""

from typing import Protocol

from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.effect import Provenance
from orchestrator.domain.undo_request import UndoAnswer, UndoRequest
from orchestrator.sessions.session import Session


class UndoSteps(Protocol):
    """Both may raise StoreError."""

    async def find(self, request: UndoRequest, actor: Actor, session: Session) -> UndoAnswer: ...

    async def propose(
        self, request: UndoRequest, actor: Actor, session: Session, *, mode: Mode, turn_id: str, provenance: Provenance
    ) -> UndoAnswer: ...
