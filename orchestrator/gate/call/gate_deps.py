from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.actor import Actor
from orchestrator.gate.call.effect import Call, Refuse
from orchestrator.gate.call.kinds.registry import KINDS
from orchestrator.gate.call.permissions import Approvers
from orchestrator.gate.call.policy import ChangeCounter, Policy
from orchestrator.gate.call.ports import BulkFiles, FreezeSwitch, Ledger, Names, NoBulkFiles, Performer
from orchestrator.gate.call.reasons import refuse
from orchestrator.gate.call.record_locks import RecordLocks
from orchestrator.gate.call.sent_calls import SentCalls


class PolicySource(Protocol):
    def now(self) -> Policy:
        """Must never fail."""


@dataclass(frozen=True, kw_only=True)
class GateDeps:
    catalogue: Catalogue
    policies: PolicySource
    performers: Mapping[str, Performer]
    records: PortalReader
    names: Names
    ttl: timedelta
    present: Callable[[Actor], Actor | None]
    """The person with their present rights; None if they have no access any more."""
    approvers: Approvers
    change_counter: ChangeCounter
    switch: FreezeSwitch
    bulk: BulkFiles = field(default_factory=NoBulkFiles)
    locks: RecordLocks = field(default_factory=RecordLocks)
    sent: SentCalls = field(default_factory=SentCalls)

    @property
    def policy(self) -> Policy:
        return self.policies.now()

    def is_by_webhook(self, call: Call) -> bool:
        performer = self.performers.get(call.kind)
        return call.kind == "bitrix" and performer is not None and not performer.is_application

    def find_missing_performer(self, call: Call) -> Refuse | None:
        """Refuses what nothing here can perform, before anybody is asked."""
        if call.kind in self.performers:
            return None
        known = KINDS.get(call.kind)
        return refuse("gate-kind-missing", kind=call.kind, setting=(known.setting if known is not None else "") or call.kind)

    async def count_changes(self, call: Call, actor: Actor, ledger: Ledger) -> int:
        """Within 24 hours; 0 for reads and without a daily limit."""
        counts = not call.reads_only and self.policy.caps.writes_per_day is not None
        return await self.change_counter.count_changes(actor, ledger) if counts else 0
