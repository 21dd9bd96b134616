"""Events of the registry of people, and the folds that apply them to `SessionState.access`. Only the session `access` has these events.

Each event is encrypted with the key of the person whom it concerns.
"""

from typing import Any, ClassVar, Literal, TypeVar

from state.events.base import Event, Fold, keep_last
from state.events.personal import Personal
from state.model.registry import AskedAccess, Invitation, JoinedPerson, Registry
from state.model.session_state import SessionState
from state.stored import JsonObject


class PersonInvited(Event):
    """An administrator made a single-use link for an employee. Whoever opens the link before `expires_at` joins as that employee."""

    fingerprint: str
    """The hash of the token; the token itself is only in the link."""
    bitrix_user_id: int
    role: Literal["manager", "lead", "admin"]
    sealed_name: Personal[str] = ""
    """Encrypted with the token: only the holder of the link can read it, so nothing of the invited person has to be erased."""
    expires_at: str
    by: str


class InvitationRefused(Event):
    """Somebody opened an invitation link that is wrong, used or expired."""

    person: str
    why: Literal["wrong", "used", "expired"]


class AccessAsked(Event):
    """A person without access wrote to the bot, and the administrators were notified."""

    person: str
    name: Personal[str]


class PersonJoined(Event):
    """A person may use the bot from now on. A blank name means that the person was erased later and has no access."""

    person: str
    name: Personal[str]
    role: Literal["manager", "lead", "admin"]
    bitrix_user_id: int
    time_zone: Personal[str] = ""
    locale: Literal["ru", "en"] = "ru"
    fingerprint: str = ""
    """The fingerprint of their invitation; "" for those whom an administrator admitted."""
    by: str


class PersonDismissed(Event):
    """A person lost access, or an invitation was revoked; then `person` is the key of the invitation ("invite:1a2b3c4d")."""

    person: str
    why: Literal["portal", "admin"]
    by: str


class PersonReturned(Event):
    """A person whom the portal had listed as dismissed is listed as working again."""

    person: str


class PreferenceSet(Event):
    """A person changed one of their own settings of the bot, such as the language."""

    person: str
    preference: Literal["locale", "time_zone", "digest", "evening", "alerts", "console_since"]
    value: Personal[str]


class PersonErased(Event):
    """An operator erased all data of a person. Only the key `person` remains, for example in records of decisions."""

    later: ClassVar[frozenset[str]] = frozenset({"probes", "unproven"})
    person: str
    by: str
    keys: int
    """The number of keys that were deleted, and with them everything encrypted under them."""
    removed: list[str]
    """What was removed: "table: rows", "log: records"."""
    remains: int = 0
    """The number of places where a search afterwards still found something of the person; they were shown to the operator."""
    probes: int = -1
    """The number of texts that were searched for afterwards; -1 if the program did not note it yet."""
    unproven: int = 0
    """The number of reasons why the search is no proof; they were shown to the operator."""


State = SessionState
T = TypeVar("T")

KEEP_INVITED = 500
KEEP_USED = 2000
KEEP_ASKED = 500
KEEP_TRIES = 5


def _ensure_registry(state: State) -> Registry:
    state.access = state.access if state.access is not None else Registry()
    return state.access


def _fold_invitation(state: State, data: JsonObject, ts: str) -> None:
    registry, made = _ensure_registry(state), PersonInvited.from_data(data)
    if made.fingerprint in registry.used:  # links are single-use, whatever events follow
        return
    invitation = Invitation.create(
        bitrix_user_id=made.bitrix_user_id, role=made.role, sealed_name=made.sealed_name, expires_at=made.expires_at, by=made.by, at=ts
    )
    _put(registry.invited, made.fingerprint, invitation, KEEP_INVITED)


def _fold_refusal(state: State, data: JsonObject, ts: str) -> None:
    tries, person = _ensure_registry(state).tries, InvitationRefused.from_data(data).person
    _put(tries, person, [*tries.get(person, ()), ts][-KEEP_TRIES:], KEEP_ASKED)


def _fold_access_request(state: State, data: JsonObject, ts: str) -> None:
    asked = AccessAsked.from_data(data)
    _put(_ensure_registry(state).asked, asked.person, AskedAccess.create(name=asked.name, at=ts), KEEP_ASKED)


def _fold_joining(state: State, data: JsonObject, ts: str) -> None:
    registry, joined = _ensure_registry(state), PersonJoined.from_data(data)
    if joined.fingerprint:
        registry.invited.pop(joined.fingerprint, None)
        _put(registry.used, joined.fingerprint, ts, KEEP_USED)
    parts: tuple[dict[str, Any], ...] = (registry.people, registry.out, registry.asked, registry.tries)
    for part in parts:
        part.pop(joined.person, None)
    if joined.name:
        registry.people[joined.person] = JoinedPerson.create(
            name=joined.name,
            role=joined.role,
            bitrix_user_id=joined.bitrix_user_id,
            time_zone=joined.time_zone,
            locale=joined.locale,
            by=joined.by,
            at=ts,
        )


def _fold_dismissal(state: State, data: JsonObject, ts: str) -> None:
    registry, gone = _ensure_registry(state), PersonDismissed.from_data(data)
    if gone.why == "portal":
        registry.out[gone.person] = ts
        return
    registry.people.pop(gone.person, None)
    registry.out.pop(gone.person, None)
    registry.preferences.pop(gone.person, None)
    for mark in [mark for mark in registry.invited if build_invitation_key(mark) == gone.person]:
        del registry.invited[mark]
        _put(registry.used, mark, ts, KEEP_USED)


def _fold_return(state: State, data: JsonObject, _ts: str) -> None:
    _ensure_registry(state).out.pop(PersonReturned.from_data(data).person, None)


def _fold_preference(state: State, data: JsonObject, _ts: str) -> None:
    chosen = PreferenceSet.from_data(data)
    mine = _ensure_registry(state).preferences.setdefault(chosen.person, {})
    mine.pop(chosen.preference, None)
    if chosen.value:
        mine[chosen.preference] = chosen.value


def build_invitation_key(fingerprint: str) -> str:
    """Return the short key by which operators refer to an invitation, such as "invite:1a2b3c4d"; `fingerprint` is the hash of its token."""
    return f"invite:{fingerprint[:8]}"


def _put(mapping: dict[str, T], key: str, value: T, keep: int) -> None:
    """Set `mapping[key]` as the newest entry, and remove the oldest entries until at most `keep` are left."""
    mapping.pop(key, None)
    mapping[key] = value
    keep_last(mapping, keep)


FOLDS: dict[str, Fold] = {
    "PersonInvited": _fold_invitation,
    "InvitationRefused": _fold_refusal,
    "AccessAsked": _fold_access_request,
    "PersonJoined": _fold_joining,
    "PersonDismissed": _fold_dismissal,
    "PersonReturned": _fold_return,
    "PreferenceSet": _fold_preference,
}
