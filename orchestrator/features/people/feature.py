"""The handlers of the people feature, by inbox kind, timer kind and command, for the tables of `orchestrator.runtime.worker`."""

from collections.abc import Mapping
from functools import partial

from orchestrator.features.people import access_removal, access_requests, joining, preferences
from orchestrator.features.people.people_context import PeopleContext
from orchestrator.runtime.turn import Handler


def build_inbox_handlers(desk: PeopleContext) -> dict[str, Handler]:
    """Return the handlers of inbox kinds; all but `access_lost` belong to session `access`."""
    return {
        "invite": partial(joining.record_invitation, desk=desk),
        "join": partial(joining.join, desk=desk),
        "knock": partial(access_requests.request_access, desk=desk),
        "people_press": partial(access_requests.dispatch_click, desk=desk),
        "preference": partial(preferences.set_preference, desk=desk),
        "person_removed": partial(access_removal.remove_person, desk=desk),
        access_removal.START: partial(access_removal.check, desk=desk),
        access_removal.FILE: partial(access_removal.apply_file_change, desk=desk),
        access_removal.LOST: access_removal.close_cards,
    }


def build_timer_handlers(desk: PeopleContext) -> dict[str, Handler]:
    """Return the handlers of timer kinds."""
    return {access_removal.TIMER: partial(access_removal.check, desk=desk)}


def build_command_handlers(desk: PeopleContext) -> Mapping[str, Handler]:
    """Return the handlers of commands that answer with a screen of this feature, in the person's own session."""
    return {name: partial(preferences.run_command, desk=desk) for name in preferences.COMMANDS}
