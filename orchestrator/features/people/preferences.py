"""Nobody can set preferences for somebody else."""

from typing import Final, get_args

from orchestrator.domain.actor import Actor
from orchestrator.domain.inputs import Command, PreferenceChange
from orchestrator.domain.outputs import Notice, Reply, build_reply
from orchestrator.features.people import screens
from orchestrator.features.people.people_context import PeopleContext
from orchestrator.gate.call.modes import resolve_mode
from orchestrator.replies.code_notes import list_examples
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from orchestrator.turns.turn import admit_actor
from state.events.people import PreferenceSet
from state.journal.store import InboxRow, OutboxRow

COMMANDS: Final = ("start", "help", "language", "settings")
_FIRST: Final = {"start": "welcome", "help": "help"}
_KNOWN: Final = frozenset(get_args(PreferenceSet.model_fields["preference"].annotation))
_VALUES: Final = {"locale": ("ru", "en"), **dict.fromkeys(screens.SWITCHES, ("on", "off"))}


def is_valid_preference(name: str, value: str) -> bool:
    """Of a time zone only the length is checked."""
    return name in _KNOWN and (value in _VALUES[name] if name in _VALUES else 0 < len(value) <= 40)  # noqa: PLR2004 - the longest zone has 32


async def set_preference(row: InboxRow, session: Session, _tools: Tools, *, desk: PeopleContext) -> None:
    """An invalid one changes nothing."""
    person, preference_change = row.actor_key, PreferenceChange.model_validate(row.body)
    is_allowed = desk.staff.find_actor_by_key(person) is not None and is_valid_preference(
        preference_change.preference, preference_change.value
    )
    await desk.commit(session, *([_build_event(person, preference_change)] if is_allowed else []), actor=person, done=[row.id])


async def set_preference_by_click(
    row: InboxRow, pressed: tuple[str, str, str], actor: Actor, session: Session, tools: Tools, *, desk: PeopleContext
) -> None:
    """`pressed` is (preference, value, message)."""
    name, value, screen = pressed
    if is_valid_preference(name, value):
        await desk.commit(session, _build_event(actor.key, PreferenceChange(preference=name, value=value)), actor=actor.key)
    outbox_row = _rebuild_screen(desk.staff.find_actor_by_key(actor.key) or actor, screen, session, tools, desk=desk)
    await desk.commit(session, actor=actor.key, outbox=[outbox_row], done=[row.id])


async def run_command(row: InboxRow, session: Session, tools: Tools, *, desk: PeopleContext) -> None:
    """Preferences are shown in private chats only."""
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    name, mode = Command.model_validate(row.body).name, resolve_mode(tools.mode, actor)
    if session.key != actor.key and name in _FIRST:
        first = Notice(code=_FIRST[name], args={"name": actor.name, "role": actor.role, "mode": mode, "private": False})
        offers = tuple(Notice(code=code) for code in list_examples(mode))
        outbox_row = outbox.build_reply_row(session.key, Reply(notices=(first,), examples=offers), session.now)
    elif name in _FIRST:
        outbox_row = screens.build_welcome(
            actor, mode, desk.staff.resolve_preferences(actor.key), session.now, screen="h" if name == "help" else "w"
        )
    elif session.key != actor.key:
        outbox_row = outbox.build_reply_row(session.key, build_reply(Notice(code="people-private-only")), session.now)
    elif name == "language":
        outbox_row = screens.build_language(actor, session.now)
    else:
        outbox_row = screens.build_settings(actor, desk.staff.resolve_preferences(actor.key), session.now)
    await session.commit(actor=actor.key, outbox=[outbox_row], inbox_done=[row.id])


def _build_event(person: str, preference_change: PreferenceChange) -> PreferenceSet:
    return PreferenceSet.model_validate({"person": person, "preference": preference_change.preference, "value": preference_change.value})


def _rebuild_screen(actor: Actor, screen: str, session: Session, tools: Tools, *, desk: PeopleContext) -> OutboxRow:
    chosen = desk.staff.resolve_preferences(actor.key)
    match screen[:1]:
        case "w" | "h":
            return screens.build_welcome(actor, resolve_mode(tools.mode, actor), chosen, session.now, screen=screen)
        case "l":
            return screens.build_language(actor, session.now, screen=screen)
        case _:
            return screens.build_settings(actor, chosen, session.now, screen=screen)
