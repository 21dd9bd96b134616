"""What works the inputs about heads of sales: kind → handler, for the tables of the workers. Ring 2."""

from functools import partial

from orchestrator.gate import confirmations
from orchestrator.leads import moving, reasons, rules_news, waiting
from orchestrator.leads.choosing import Staff
from orchestrator.turns import Handlers


def build_handlers(staff: Staff) -> Handlers:
    """Inbox kinds `reason`, `leads_changed` and `policy_news`, the timers of a card that waits for a lead, and the press `why`."""
    return Handlers(
        inbox={
            reasons.KIND: reasons.receive_reason,
            moving.KIND: moving.transfer_waiting_cards,
            rules_news.KIND: partial(rules_news.tell_administrators, staff=staff),
        },
        timers={confirmations.ARRIVED: waiting.check_arrival, confirmations.REMIND: waiting.remind},
        buttons={reasons.PRESS: reasons.ask_reason},
    )
