"""What works the inputs about heads of sales: kind → handler, for the tables of the workers. Ring 2."""

from functools import partial

from orchestrator.gate import confirmations
from orchestrator.leads import moving, reasons, rules_news, waiting
from orchestrator.leads.choosing import Staff
from orchestrator.turns import Handlers


def handlers(staff: Staff) -> Handlers:
    """Inbox kinds `reason`, `leads_changed` and `policy_news`, the timers of a card that waits for a lead, and the press `why`."""
    return Handlers(
        inbox={reasons.KIND: reasons.given, moving.KIND: moving.changed, rules_news.KIND: partial(rules_news.told, staff=staff)},
        timers={confirmations.ARRIVED: waiting.arrived, confirmations.REMIND: waiting.remind},
        presses={reasons.PRESS: reasons.pressed},
    )
