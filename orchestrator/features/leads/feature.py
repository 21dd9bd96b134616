"""The handlers of the leads feature, by inbox kind, timer kind and button, for the tables of the workers."""

from functools import partial

from orchestrator.domain.inputs import DenialReason
from orchestrator.features.leads import assignment, denial_reasons, lead_inbox, lead_reminders, policy_news
from orchestrator.gate.approve import confirmations
from orchestrator.gate.call.permissions import Staff
from orchestrator.runtime.turn import Handlers


def build_inbox_handlers() -> Handlers:
    """Return the handlers that show a lead the cards of others; needed wherever cards exist, even without an access list."""
    return Handlers(
        inbox={lead_inbox.SHOW_TO_LEAD: lead_inbox.show_pending_cards, lead_inbox.DETAILS_TO_LEAD: lead_inbox.send_details},
        buttons={lead_inbox.DETAILS_BUTTON: lead_inbox.request_details},
    )


def build_handlers(staff: Staff) -> Handlers:
    """Return the handlers of `reason`, `leads_changed` and `policy_news`, of the timers of waiting cards, and of the button `why`."""
    return Handlers(
        inbox={
            DenialReason.KIND: denial_reasons.receive_reason,
            assignment.KIND: assignment.transfer_waiting_cards,
            policy_news.KIND: partial(policy_news.tell_administrators, staff=staff),
        },
        timers={confirmations.ARRIVED: lead_reminders.check_arrival, confirmations.REMIND: lead_reminders.remind},
        buttons={denial_reasons.PRESS: denial_reasons.ask_reason},
    )
