"""Events of the registry of people and their fold, `state["access"]` of session `access`. Pure; no other session has it.

Each event is stored under the key of the person it is about.
"""

from collections.abc import Callable
from typing import Any, Literal

from state.events.base import Event
from state.events.personal import Personal
from state.session_state import SessionState


class PersonInvited(Event):
    """A single-use link was made for an employee; whoever opens it in time joins."""

    fingerprint: str
    """The hash of the token; the token itself is only in the link."""
    bitrix_user_id: int
    role: Literal["manager", "lead", "admin"]
    sealed_name: Personal[str] = ""
    """Encrypted with the token: only the holder of the link can read it, so nothing of the invited person has to be erased."""
    expires_at: str
    by: str


class InvitationRefused(Event):
    """Somebody opened an invalid link."""

    person: str
    why: Literal["wrong", "used", "expired"]


class AccessAsked(Event):
    """A stranger wrote, and the administrators were notified."""

    person: str
    name: Personal[str]


class PersonJoined(Event):
    """From now on this person may use the bot. If the name is missing because it was erased, they may not."""

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
    """The person lost access; `person` may also be a revoked invitation ("invite:1a2b3c4d")."""

    person: str
    why: Literal["portal", "admin"]
    by: str


class PersonReturned(Event):
    """The portal lists a person as working again whom it had listed as dismissed."""

    person: str


class PreferenceSet(Event):
    """A person changed a setting of the bot."""

    person: str
    preference: Literal["locale", "time_zone", "digest", "evening", "alerts"]
    value: Personal[str]


class PersonErased(Event):
    """Operations erased everything reachable about a person; `person` stays as the key in records of who decided."""

    person: str
    by: str
    keys: int
    """The number of keys that were deleted, and with them everything encrypted under them."""
    removed: list[str]
    """What was removed: "table: rows", "log: records"."""
    remains: int = 0
    """The number of places where the search afterwards still found something; they were reported to operations."""


State = SessionState
Data = dict[str, Any]

KEEP_INVITED = 500
KEEP_USED = 2000
KEEP_ASKED = 500
KEEP_TRIES = 5


def create_registry() -> Data:
    """Return an empty registry."""
    return {"invited": {}, "used": {}, "people": {}, "out": {}, "preferences": {}, "asked": {}, "tries": {}}


def _ensure_registry(state: State) -> Data:
    if state.access is None:
        state.access = create_registry()
    return state.access


def _fold_invitation(state: State, data: Data, ts: str) -> None:
    registry = _ensure_registry(state)
    mark = data["fingerprint"]
    if mark in registry["used"]:  # links are single-use, whatever events follow
        return
    kept = ("bitrix_user_id", "role", "sealed_name", "expires_at", "by")
    _put(registry["invited"], mark, {**{name: data[name] for name in kept}, "at": ts}, KEEP_INVITED)


def _fold_refusal(state: State, data: Data, ts: str) -> None:
    tries = _ensure_registry(state)["tries"]
    _put(tries, data["person"], [*tries.get(data["person"], ()), ts][-KEEP_TRIES:], KEEP_ASKED)


def _fold_access_request(state: State, data: Data, ts: str) -> None:
    _put(_ensure_registry(state)["asked"], data["person"], {"name": data["name"], "at": ts}, KEEP_ASKED)


def _fold_joining(state: State, data: Data, ts: str) -> None:
    registry, person = _ensure_registry(state), data["person"]
    if data["fingerprint"]:
        registry["invited"].pop(data["fingerprint"], None)
        _put(registry["used"], data["fingerprint"], ts, KEEP_USED)
    for part in ("people", "out", "asked", "tries"):
        registry[part].pop(person, None)
    if data["name"]:
        kept = ("name", "role", "bitrix_user_id", "time_zone", "locale", "by")
        registry["people"][person] = {**{name: data[name] for name in kept}, "at": ts}


def _fold_dismissal(state: State, data: Data, ts: str) -> None:
    registry, person = _ensure_registry(state), data["person"]
    if data["why"] == "portal":
        registry["out"][person] = ts
        return
    for part in ("people", "out", "preferences"):
        registry[part].pop(person, None)
    for mark in [mark for mark in registry["invited"] if build_invitation_key(mark) == person]:
        del registry["invited"][mark]
        _put(registry["used"], mark, ts, KEEP_USED)


def _fold_return(state: State, data: Data, ts: str) -> None:
    del ts
    _ensure_registry(state)["out"].pop(data["person"], None)


def _fold_preference(state: State, data: Data, ts: str) -> None:
    del ts
    mine = _ensure_registry(state)["preferences"].setdefault(data["person"], {})
    mine.pop(data["preference"], None)
    if data["value"]:
        mine[data["preference"]] = data["value"]


def build_invitation_key(fingerprint: str) -> str:
    """Return the short key by which operations name an invitation: "invite:1a2b3c4d"."""
    return f"invite:{fingerprint[:8]}"


def _put(mapping: dict[str, Any], key: str, value: Any, keep: int) -> None:
    """Set `mapping[key]` as the newest entry and drop the oldest ones beyond `keep`."""
    mapping.pop(key, None)
    mapping[key] = value
    while len(mapping) > keep:
        del mapping[next(iter(mapping))]


FOLDS: dict[str, Callable[[State, Data, str], None]] = {
    "PersonInvited": _fold_invitation,
    "InvitationRefused": _fold_refusal,
    "AccessAsked": _fold_access_request,
    "PersonJoined": _fold_joining,
    "PersonDismissed": _fold_dismissal,
    "PersonReturned": _fold_return,
    "PreferenceSet": _fold_preference,
}
