"""Cards in the chats of leads, denial reasons, reminders, and moves between leads."""

from functools import partial

from orchestrator.domain.inputs import DenialReason
from orchestrator.domain.staff import Staff
from orchestrator.features.leads import assignment, denial_reasons, lead_inbox, lead_reminders, policy_news
from orchestrator.gate.approve import confirmations
from orchestrator.turns.feature import Feature, merge_features
from state.journal.async_store import AsyncStore


def build_feature(store: AsyncStore, staff: Staff | None = None) -> Feature:
    """Without `staff` a lead only sees waiting cards."""
    feature = Feature(
        inbox={lead_inbox.SHOW_TO_LEAD: lead_inbox.show_pending_cards, lead_inbox.DETAILS_TO_LEAD: lead_inbox.send_details},
        buttons={lead_inbox.DETAILS_BUTTON: lead_inbox.request_details},
    )
    return merge_features(feature, build_staffed_feature(store, staff)) if staff is not None else feature


def build_staffed_feature(store: AsyncStore, staff: Staff) -> Feature:
    return Feature(
        inbox={
            DenialReason.KIND: denial_reasons.receive_reason,
            assignment.KIND: assignment.transfer_waiting_cards,
            policy_news.KIND: partial(policy_news.tell_administrators, staff=staff),
        },
        timers={confirmations.ARRIVED: lead_reminders.check_arrival, confirmations.REMIND: lead_reminders.remind_leads},
        buttons={denial_reasons.PRESS: denial_reasons.ask_reason},
        periodic_tasks=(assignment.LeadsWatcher(store, staff).run,),
    )
