"""The context in which a reference of the model stands: its call and the conversation."""

from dataclasses import dataclass

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.domain.actor import Actor
from state.model.session_state import SessionState
from state.stored import JsonObject


@dataclass(frozen=True, kw_only=True)
class ReferenceContext:
    """The context of a reference: the call that contains it, and the conversation.

    `method` and `params` are the call's. `actor` is the person who speaks, `state` the session's state, `text` the person's message.
    """

    method: str
    params: JsonObject
    actor: Actor
    state: SessionState
    text: str

    def is_write(self, catalogue: Catalogue) -> bool:
        """Return whether the call may change something in the portal; if so, its names are checked against fresh data, not the cache."""
        method = catalogue.find(self.method)
        return method is None or not method.reads_only
