"""References to fields as keys of a step's parameters: {"fields": {"@field:Площадка": 5}, "filter": {">=@field:Бюджет": 100}}.

Such a key is found and replaced like a value that is a reference; the sign before it in a filter stays.
"""

import re
from collections.abc import Iterator, Mapping

_FIELD_KEY = re.compile(r"([^\w@\s]{0,3})(@field:\S.*)", re.DOTALL)


def find_key_reference(key: object) -> str:
    """Return the reference to a field in a key; "" if the key is none."""
    found = _FIELD_KEY.fullmatch(key) if isinstance(key, str) else None
    return found[2] if found else ""


def replace_key(key: object, values: Mapping[str, object]) -> object:
    """Return the key with its reference replaced by the field's code in `values`, if that is known."""
    found = _FIELD_KEY.fullmatch(key) if isinstance(key, str) else None
    return f"{found[1]}{values[found[2]]}" if found and found[2] in values else key


def find_doubled_keys(value: object, values: Mapping[str, object]) -> str:
    """Return a key that would stand twice in a mapping of `value` when its references are replaced; "" if there is none.

    One of the two values would be lost without a word.
    """
    return next(_list_doubled(value, values), "")


def _list_doubled(value: object, values: Mapping[str, object]) -> Iterator[str]:
    if isinstance(value, Mapping):
        made = [str(replace_key(key, values)) for key in value]
        yield from (key for number, key in enumerate(made) if key in made[:number])
        for item in value.values():
            yield from _list_doubled(item, values)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _list_doubled(item, values)
