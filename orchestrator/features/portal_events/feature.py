"""Registers the feature that watches the portal: it receives portal events, reads changed records and tells their owners.

At startup it also looks for changes that it missed.
"""

from orchestrator.features.portal_events.watcher import START, TIMER, PortalWatcher
from orchestrator.turns.feature import Feature


def build_feature(watcher: PortalWatcher) -> Feature:
    """Return the feature that watches the portal.

    Its inputs are handled in a session of their own, in which no person talks to the bot.
    """
    return Feature(
        inbox={START: watcher.find_missed, "portal_event": watcher.receive_event},
        timers={TIMER: watcher.probe_due},
        given_up_timers={TIMER: watcher.reschedule},
        starts={START: watcher.build_start_row},
        watchers=(watcher.recent_writes.observe,),
    )
