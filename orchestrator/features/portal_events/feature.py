"""What watching the portal registers: the portal's events, the reading of changed records, and the catch-up at a start."""

from orchestrator.features.portal_events.watcher import START, TIMER, PortalWatcher
from orchestrator.runtime.feature import Feature


def build_feature(watcher: PortalWatcher) -> Feature:
    """Return what watching the portal registers; its inputs come in a session of their own, in which nobody talks."""
    return Feature(
        inbox={START: watcher.find_missed, "portal_event": watcher.receive_event},
        timers={TIMER: watcher.probe_due},
        given_up_timers={TIMER: watcher.reschedule},
        starts={START: watcher.build_start_row},
        watchers=(watcher.recent_writes.observe,),
    )
