"""What works the inputs about heads of sales: kind → handler, for the tables of the workers. Ring 2."""

from functools import partial

from orchestrator.features.leads import assignment, denial_reasons, lead_reminders, policy_news
from orchestrator.features.leads.approvers import Staff
from orchestrator.gate.approve import confirmations
from orchestrator.runtime.turn import Handlers


def build_handlers(staff: Staff) -> Handlers:
    """Inbox kinds `reason`, `leads_changed` and `policy_news`, the timers of a card that waits for a lead, and the press `why`."""
    return Handlers(
        inbox={
            denial_reasons.KIND: denial_reasons.receive_reason,
            assignment.KIND: assignment.transfer_waiting_cards,
            policy_news.KIND: partial(policy_news.tell_administrators, staff=staff),
        },
        timers={confirmations.ARRIVED: lead_reminders.check_arrival, confirmations.REMIND: lead_reminders.remind},
        buttons={denial_reasons.PRESS: denial_reasons.ask_reason},
    )
