"""The inputs that the registry of people understands: kind → handler, for the table of `orchestrator.workers`. Ring 2."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from orchestrator.people import asking, joining, leaving, preferring
from orchestrator.people.desk import PeopleContext
from orchestrator.session import Session
from orchestrator.turns import Tools
from state.store import InboxRow

Handler = Callable[[InboxRow, Session, Tools], Awaitable[None]]


def build_inbox_handlers(desk: PeopleContext) -> dict[str, Handler]:
    """Inbox kinds; all but `access_lost` belong to session `access`."""
    return {
        "invite": partial(joining.record_invitation, desk=desk),
        "join": partial(joining.join, desk=desk),
        "knock": partial(asking.request_access, desk=desk),
        "people_press": partial(asking.dispatch_click, desk=desk),
        "preference": partial(preferring.set_preference, desk=desk),
        "person_removed": partial(leaving.remove_person, desk=desk),
        leaving.START: partial(leaving.check, desk=desk),
        leaving.FILE: partial(leaving.apply_file_change, desk=desk),
        leaving.LOST: partial(leaving.close_cards, desk=desk),
    }


def build_timer_handlers(desk: PeopleContext) -> dict[str, Handler]:
    """Timer kinds."""
    return {leaving.TIMER: partial(leaving.check, desk=desk)}


def build_command_handlers(desk: PeopleContext) -> Mapping[str, Handler]:
    """Typed commands that answer with a screen of ours, in the person's own session."""
    return {name: partial(preferring.run_command, desk=desk) for name in preferring.COMMANDS}
