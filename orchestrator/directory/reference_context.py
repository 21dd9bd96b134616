"""The call and the conversation in which a reference stands."""

from dataclasses import dataclass

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.domain.actor import Actor
from state.model.session_state import SessionState
from state.stored import JsonObject


@dataclass(frozen=True, kw_only=True)
class ReferenceContext:
    method: str
    params: JsonObject
    actor: Actor
    state: SessionState
    text: str

    def is_write(self, catalogue: Catalogue) -> bool:
        """Names are then checked against fresh data, not the cache."""
        method = catalogue.find(self.method)
        return method is None or not method.reads_only
