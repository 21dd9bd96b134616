"""What the gate works with, made once: the catalogue, the rules, the performers, and where records and names are read. Ring 2."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.gate.approve.confirmations import can_see_all
from orchestrator.gate.approve.preview import Names, preview
from orchestrator.gate.call.effect import Ask, Call, Facts
from orchestrator.gate.call.limits import ChangeCounter
from orchestrator.gate.call.permissions import Approvers
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.call.ports import Ledger, Performer, Records
from orchestrator.gate.decide.freeze_check import FreezeSwitch
from orchestrator.gate.decide.policy_reload import PolicySource
from orchestrator.gate.execute.executor import Order
from orchestrator.messages import Actor, Notice


@dataclass(frozen=True, kw_only=True)
class GateDeps:
    """See the module docstring."""

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

    def find_notified_leads(self, order: Order, verdict: Ask, actor: Actor) -> Sequence[Actor]:
        """The leads to whom a request is shown; nobody where the one who asks may decide it."""
        if not self._needs_other_approver(verdict, actor):
            return ()
        return self.approvers.find_leads(actor, lambda lead: can_see_all(lead, order.before, self.catalogue, asked_by=actor.bitrix_user_id))

    def build_no_lead_notice(self, told: Sequence[Actor], verdict: Ask, actor: Actor) -> Notice | None:
        """What is said where no lead is known who could decide."""
        return Notice(code="lead-nobody") if self._needs_other_approver(verdict, actor) and not told else None

    def _needs_other_approver(self, verdict: Ask, actor: Actor) -> bool:
        return verdict.four_eyes or (verdict.lead and actor.role == "manager")

    async def preview(self, call: Call, facts: Facts, actor: Actor, *, now: datetime | None = None) -> dict[str, Any]:
        """The card of `call` in the language and the zone of `actor`."""
        user = actor.bitrix_user_id or 0
        return await preview(call, facts, self.names, locale=actor.locale, zone=actor.time_zone, user=user, now=now)
