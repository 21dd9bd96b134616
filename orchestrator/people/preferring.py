"""What a person wants of the bot: language, digests, alerts. Ring 2; nobody sets anything for somebody else."""

from typing import Any, Final, get_args

from orchestrator import outgoing
from orchestrator.gate.modes import effective
from orchestrator.messages import Actor, Notice, Reply, say
from orchestrator.offering import examples
from orchestrator.people import screens
from orchestrator.people.desk import Desk
from orchestrator.session import Session
from orchestrator.turns import Tools, admitted
from state.events_people import PreferenceSet
from state.store import InboxRow, OutboxRow

COMMANDS: Final = ("start", "help", "language", "settings")
_FIRST: Final = {"start": "welcome", "help": "help"}
_KNOWN: Final = frozenset(get_args(PreferenceSet.model_fields["preference"].annotation))
_VALUES: Final = {"locale": ("ru", "en"), **dict.fromkeys(screens.SWITCHES, ("on", "off"))}


def valid(name: str, value: str) -> bool:
    """Whether it is something that can be set; a time zone is checked where it is used."""
    return name in _KNOWN and (value in _VALUES[name] if name in _VALUES else 0 < len(value) <= 40)  # noqa: PLR2004 - the longest zone has 32


async def preference(row: InboxRow, session: Session, tools: Tools, *, desk: Desk) -> None:
    """Set one preference of whoever sent it ({preference, value}); what cannot be set changes nothing. Raises StoreError."""
    del tools
    person = str(row.actor["key"])
    name, value = str(row.body.get("preference", "")), str(row.body.get("value", ""))
    wanted = desk.staff.actor_of(person) is not None and valid(name, value)
    await desk.commit(session, *([_event(person, name, value)] if wanted else []), actor=person, done=[row.id])


async def pressed_preference(
    row: InboxRow, pressed: tuple[str, str, str], actor: Actor, session: Session, tools: Tools, *, desk: Desk
) -> None:
    """A switch was pressed: it is set, and the screen with the switch shows it. Raises StoreError."""
    name, value, screen = pressed
    if valid(name, value):
        await desk.commit(session, _event(actor.key, name, value), actor=actor.key)
    shown = _screen(desk.staff.actor_of(actor.key) or actor, screen, session, tools, desk=desk)
    await desk.commit(session, actor=actor.key, outbox=[shown], done=[row.id])


async def command(row: InboxRow, session: Session, tools: Tools, *, desk: Desk) -> None:
    """/start, /help, /language, /settings in the person's own session; what one sets is shown in private only. Raises StoreError."""
    actor = await admitted(row, session, tools)
    if actor is None:
        return
    name, mode = str(row.body["name"]), effective(tools.mode, actor)
    if session.key != actor.key and name in _FIRST:
        first = Notice(code=_FIRST[name], args={"name": actor.name, "role": actor.role, "mode": mode, "private": False})
        offers = tuple(Notice(code=code) for code in examples(mode))
        told = outgoing.reply_row(session.key, Reply(notices=(first,), examples=offers), session.now)
    elif name in _FIRST:
        told = screens.welcome(actor, mode, desk.staff.preferences(actor.key), session.now, screen="h" if name == "help" else "w")
    elif session.key != actor.key:
        told = outgoing.reply_row(session.key, say(Notice(code="people-private-only")), session.now)
    elif name == "language":
        told = screens.language(actor, session.now)
    else:
        told = screens.settings(actor, desk.staff.preferences(actor.key), session.now)
    await session.commit(actor=actor.key, outbox=[told], inbox_done=[row.id])


def _event(person: str, name: Any, value: str) -> PreferenceSet:
    return PreferenceSet(person=person, preference=name, value=value)


def _screen(actor: Actor, screen: str, session: Session, tools: Tools, *, desk: Desk) -> OutboxRow:
    """The screen that the pressed button stands on, as it is now."""
    chosen = desk.staff.preferences(actor.key)
    match screen[:1]:
        case "w" | "h":
            return screens.welcome(actor, effective(tools.mode, actor), chosen, session.now, screen=screen)
        case "l":
            return screens.language(actor, session.now, screen=screen)
        case _:
            return screens.settings(actor, chosen, session.now, screen=screen)
