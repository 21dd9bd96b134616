"""Removes one person from other people's audit records: the person's name, and the person's words in records made in their session."""

from collections.abc import Collection, Mapping

from state.journal.encryption import find_key_owner
from state.stored import JsonObject

_NAME = "_name"
_BY = "_by"
_KEPT = frozenset(
    {
        *("timestamp", "user", "v", "type", "session", "turn_id", "iteration", "mode", "via", "model", "seconds", "tokens", "targets"),
        *("requested_by", "decided_by", "confirmation", "outcome", "executed_actions", "chain"),
    }
)
_KEPT_INSIDE = frozenset({"confirmation_id", "effect_id", "method", "status", "requested_by", "fingerprint", "call_class", "notice"})


def erase_name(value: JsonObject, person: str, names: Collection[str]) -> dict[str, object]:
    """Return a copy of `value`, at all levels, with "" in every field that holds the person's name.

    Such fields are those with the name of somebody who requested or decided something. `person` is the person's key, `names` their names.
    """
    return {key: "" if _is_their_name(key, value, person, names) else _erase_inside(item, person, names) for key, item in value.items()}


def _erase_inside(value: object, person: str, names: Collection[str]) -> object:
    if isinstance(value, Mapping):
        return erase_name(value, person, names)
    return [_erase_inside(item, person, names) for item in value] if isinstance(value, list | tuple) else value


def _is_their_name(key: str, mapping: JsonObject, person: str, names: Collection[str]) -> bool:
    if key == "name":
        return mapping.get("key") == person
    if key == "who":
        return mapping[key] in names
    if not key.endswith(_BY + _NAME):
        return False
    by = mapping.get(key.removesuffix(_NAME))
    return by == person if by else mapping[key] in names


def erase_from_record(record: JsonObject, person: str, names: Collection[str], runs: Collection[str] = ()) -> dict[str, object]:
    """Return a record of another person's audit log without the name and the words of `person` (a key such as "tg:7").

    A record made in the erased person's own session, or in one of the person's `runs` (given by key), keeps only the fields that cannot
    hold their words.
    """
    bare = erase_name(record, person, names)
    session = str(record.get("session", ""))
    if session not in runs and find_key_owner("", session) != person:
        return bare
    return {key: _strip_item(key, item) for key, item in bare.items() if key in _KEPT}


def _strip_item(key: str, item: object) -> object:
    match item:
        case Mapping() if key in {"confirmation", "outcome"}:
            return {name: value for name, value in item.items() if name in _KEPT_INSIDE}
        case list() if key == "executed_actions":
            return [_strip_item("outcome", action) for action in item]
        case _:
            return item
