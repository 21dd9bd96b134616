from collections.abc import Collection, Mapping

from state.stored import JsonObject

_NAME = "_name"
_BY = "_by"


def erase_name(value: JsonObject, person: str, names: Collection[str]) -> dict[str, object]:
    """A copy, at all levels with "" for the name of who requested or decided."""
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
