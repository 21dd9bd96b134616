"""Events of the registry of people, in session `access`, each under the key of the person concerned."""

from typing import Any, ClassVar, Literal, TypeVar

from state.events.base import Event, Fold, keep_last
from state.events.personal import Personal
from state.model.registry import AskedAccess, Invitation, JoinedPerson, Registry
from state.model.session_state import SessionState
from state.stored import JsonObject


class PersonInvited(Event):
    fingerprint: str
    bitrix_user_id: int
    role: Literal["manager", "lead", "admin"]
    sealed_name: Personal[str] = ""
    """Encrypted with the token, so that nothing has to be erased."""
    expires_at: str
    by: str


class InvitationRefused(Event):
    person: str
    why: Literal["wrong", "used", "expired"]


class AccessAsked(Event):
    person: str
    name: Personal[str]


class PersonJoined(Event):
    """A blank name: erased later, without access."""

    person: str
    name: Personal[str]
    role: Literal["manager", "lead", "admin"]
    bitrix_user_id: int
    time_zone: Personal[str] = ""
    locale: Literal["ru", "en"] = "ru"
    fingerprint: str = ""
    """"" for those whom an administrator admitted."""
    by: str


class PersonDismissed(Event):
    """For a revoked invitation `person` is "invite:1a2b3c4d"."""

    person: str
    why: Literal["portal", "admin"]
    by: str


class PersonReturned(Event):
    person: str


class PreferenceSet(Event):
    person: str
    preference: Literal["locale", "time_zone", "digest", "evening", "alerts", "dark", "console_since"]
    value: Personal[str]


class PersonErased(Event):
    """Only the key `person` remains."""

    later: ClassVar[frozenset[str]] = frozenset({"probes", "unproven"})
    person: str
    by: str
    keys: int
    removed: list[str]
    """"table: rows", "log: records"."""
    remains: int = 0
    """Places where a search still found something."""
    probes: int = -1
    """Texts searched for; -1 in older records."""
    unproven: int = 0
    """Reasons why the search is no proof."""


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
    registry, invitation_made = _ensure_registry(state), PersonInvited.from_data(data)
    if invitation_made.fingerprint in registry.used:  # links are single-use, whatever events follow
        return
    invitation = Invitation.create(
        bitrix_user_id=invitation_made.bitrix_user_id,
        role=invitation_made.role,
        sealed_name=invitation_made.sealed_name,
        expires_at=invitation_made.expires_at,
        by=invitation_made.by,
        at=ts,
    )
    _put(registry.invited, invitation_made.fingerprint, invitation, KEEP_INVITED)


def _fold_refusal(state: State, data: JsonObject, ts: str) -> None:
    tries, person = _ensure_registry(state).tries, InvitationRefused.from_data(data).person
    _put(tries, person, [*tries.get(person, ()), ts][-KEEP_TRIES:], KEEP_ASKED)


def _fold_access_request(state: State, data: JsonObject, ts: str) -> None:
    request = AccessAsked.from_data(data)
    _put(_ensure_registry(state).asked, request.person, AskedAccess.create(name=request.name, at=ts), KEEP_ASKED)


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
    """Return the key that operators use: "invite:1a2b3c4d"."""
    return f"invite:{fingerprint[:8]}"


def _put(mapping: dict[str, T], key: str, value: T, keep: int) -> None:
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
