"""The inputs that the registry of people understands: kind → handler, for the table of `orchestrator.workers`. Ring 2."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from orchestrator.people import asking, joining, leaving, preferring
from orchestrator.people.desk import Desk
from orchestrator.session import Session
from orchestrator.turns import Tools
from state.store import InboxRow

Handler = Callable[[InboxRow, Session, Tools], Awaitable[None]]


def handlers(desk: Desk) -> dict[str, Handler]:
    """Inbox kinds; all but `access_lost` belong to session `access`."""
    return {
        "invite": partial(joining.invite, desk=desk),
        "join": partial(joining.join, desk=desk),
        "knock": partial(asking.knock, desk=desk),
        "people_press": partial(asking.press, desk=desk),
        "preference": partial(preferring.preference, desk=desk),
        "person_removed": partial(leaving.removed, desk=desk),
        leaving.START: partial(leaving.check, desk=desk),
        leaving.FILE: partial(leaving.file_changed, desk=desk),
        leaving.LOST: partial(leaving.close_cards, desk=desk),
    }


def timer_handlers(desk: Desk) -> dict[str, Handler]:
    """Timer kinds."""
    return {leaving.TIMER: partial(leaving.check, desk=desk)}


def command_handlers(desk: Desk) -> Mapping[str, Handler]:
    """Typed commands that answer with a screen of ours, in the person's own session."""
    return {name: partial(preferring.command, desk=desk) for name in preferring.COMMANDS}
