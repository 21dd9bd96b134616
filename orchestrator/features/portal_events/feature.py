"""Watches the portal: reads changed records and tells their owners."""

from orchestrator.features.portal_events.watcher import START, TIMER, PortalWatcher
from orchestrator.turns.feature import Feature


def build_feature(watcher: PortalWatcher) -> Feature:
    """In a session of its own."""
    return Feature(
        inbox={START: watcher.find_missed, "portal_event": watcher.receive_event},
        timers={TIMER: watcher.probe_due},
        given_up_timers={TIMER: watcher.reschedule},
        starts={START: watcher.build_start_row},
        watchers=(watcher.recent_writes.observe,),
    )
