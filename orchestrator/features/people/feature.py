"""Invitations, access requests, dismissals, and preferences."""

from functools import partial

from orchestrator.features.people import access_removal, access_requests, joining, preferences
from orchestrator.features.people.people_context import PeopleContext
from orchestrator.turns.feature import Feature


def build_feature(desk: PeopleContext) -> Feature:
    """`access_lost` goes to each session with the person's cards, other inputs to `access`."""
    return Feature(
        inbox={
            "invite": partial(joining.record_invitation, desk=desk),
            "join": partial(joining.join, desk=desk),
            "knock": partial(access_requests.request_access, desk=desk),
            "people_press": partial(access_requests.dispatch_click, desk=desk),
            "preference": partial(preferences.set_preference, desk=desk),
            "person_removed": partial(access_removal.remove_person, desk=desk),
            access_removal.START: partial(access_removal.check_employment, desk=desk),
            access_removal.FILE: partial(access_removal.apply_file_change, desk=desk),
            access_removal.LOST: access_removal.close_cards,
        },
        timers={access_removal.TIMER: partial(access_removal.check_employment, desk=desk)},
        commands={name: partial(preferences.run_command, desk=desk) for name in preferences.COMMANDS},
    )
