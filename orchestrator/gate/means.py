"""What the gate works with, made once: the catalogue, the rules, the performers, and where records and names are read. Ring 2."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from bitrix.catalogue import Catalogue
from orchestrator.gate.effects import Call, Facts
from orchestrator.gate.policy import Policy
from orchestrator.gate.ports import Performer, Records
from orchestrator.gate.preview import Names, preview
from orchestrator.messages import Actor


@dataclass(frozen=True, kw_only=True)
class Means:
    """See the module docstring."""

    catalogue: Catalogue
    policy: Policy
    performers: Mapping[str, Performer]
    records: Records
    names: Names
    ttl: timedelta
    """How long a card waits."""
    present: Callable[[Actor], Actor | None]
    """The rights that a person has now, None for those who have none any more."""

    def by_webhook(self, call: Call) -> bool:
        """Whether calls of this kind go through a webhook of the portal."""
        performer = self.performers.get(call.kind)
        return call.kind == "bitrix" and performer is not None and not performer.is_application

    async def preview(self, call: Call, facts: Facts, actor: Actor) -> dict[str, Any]:
        """The card of `call` in the language and the zone of `actor`."""
        user = actor.bitrix_user_id or 0
        return await preview(call, facts, self.names, locale=actor.locale, zone=actor.time_zone, user=user)
