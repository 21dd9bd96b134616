"""What the stages of the gate work with, made once: the catalogue, the rules, the performers, and the readers of records and names."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.domain.actor import Actor
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.limits import ChangeCounter
from orchestrator.gate.call.permissions import Approvers
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.call.ports import FreezeSwitch, Ledger, Names, Performer, Records


class PolicySource(Protocol):
    """Where the rules of this moment are asked for."""

    def now(self) -> Policy:
        """The policy in force; never fails."""
        ...


@dataclass(frozen=True, kw_only=True)
class GateDeps:
    """The parts that every stage may use; frozen, one for each gate."""

    catalogue: Catalogue
    policies: PolicySource
    performers: Mapping[str, Performer]
    records: Records
    names: Names
    ttl: timedelta
    """How long a card waits."""
    present: Callable[[Actor], Actor | None]
    """The rights that a person has now, None for those who have none any more."""
    approvers: Approvers
    change_counter: ChangeCounter
    switch: FreezeSwitch

    @property
    def policy(self) -> Policy:
        """The rules of this moment."""
        return self.policies.now()

    def is_by_webhook(self, call: Call) -> bool:
        """Whether calls of this kind go through a webhook of the portal."""
        performer = self.performers.get(call.kind)
        return call.kind == "bitrix" and performer is not None and not performer.is_application

    async def count_changes(self, call: Call, actor: Actor, ledger: Ledger) -> int:
        """How many changes were made for the actor within a day; not counted where nothing hangs on it."""
        counts = not call.reads_only and self.policy.caps.writes_per_day is not None
        return await self.change_counter.count_changes(actor, ledger) if counts else 0
