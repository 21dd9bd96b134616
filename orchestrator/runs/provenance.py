"""Tells the gate where the values of a run's effect (proposed call) come from."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from orchestrator.domain.effect import Provenance
from orchestrator.domain.taint import FOREIGN, NOWHERE, Origins, Value, join_origins, split_values
from orchestrator.runs.foreign_texts import ForeignTexts
from state.stored import JsonObject

_OWN: Final[Origins] = frozenset({"definition", "person"})
"""Origins whose words are a wish: the author of the definition, and the person who answered the run's questions."""
_AUTHOR: Final[Origins] = frozenset({"definition"})


def build_provenance(params: Mapping[str, Any], foreign: ForeignTexts) -> tuple[JsonObject, Provenance]:
    """Return (the params without origins, what the gate must know of the origins). `foreign` are the foreign texts that the run has got.

    Every value inside of `params` that does not come from the program itself is a `Value`. A call with any value that strangers may have
    written counts as caused by their text, so that a person is asked; so does one that holds their text without saying so. The words of the
    author and of the person are their wish: they name records. Short texts of the CRM and answers of the model are neither: what they name
    was named by nobody.
    """
    data, values = split_values(params)
    own = [one for one in values if one.origins and one.origins <= _OWN]
    others = [one for one in values if one.origins - _OWN]
    return data, Provenance(
        message=None,  # what the definition writes was ordered by whoever published it
        prose=any(one.origins & FOREIGN for one in values) or foreign.holds(params),
        external=tuple(text for one in others for text in _list_texts(one)),
        person_text=" ".join(text for one in own for text in _list_texts(one)),
        keys=frozenset(key for one in values if one.origins - _AUTHOR for key in _list_keys(one.data)),
        numbers=frozenset(int(text) for one in own for text in _list_texts(one) if text.isascii() and text.isdecimal()),
    )


def list_arg_origins(args: object, foreign: ForeignTexts) -> dict[str, list[str]]:
    """Return where each of the values comes from with which another run is to begin later, by its name.

    The gate shows a person these values as they are; the later run must still know which of them strangers may have written.
    """
    whole = args.origins if isinstance(args, Value) else NOWHERE
    given = args.data if isinstance(args, Value) else args
    if not isinstance(given, Mapping):
        return {}
    found: dict[str, list[str]] = {}
    for name, one in given.items():
        data, values = split_values(one)
        found[str(name)] = [str(origin) for origin in sorted(foreign.find_origins(data, whole | join_origins(values)))]
    return found


def _list_texts(value: Value) -> list[str]:
    """Return the texts and numbers in a value, as texts."""
    found: list[str] = []
    _collect(value.data, found)
    return found


def _list_keys(data: object) -> Iterator[str]:
    """Yield the names of fields in JSON data, at any depth."""
    if isinstance(data, Mapping):
        yield from map(str, data)
    if isinstance(data, Mapping | list | tuple):
        for one in data.values() if isinstance(data, Mapping) else data:
            yield from _list_keys(one)


def _collect(data: object, found: list[str]) -> None:
    if isinstance(data, Mapping):
        for one in data.values():
            _collect(one, found)
    elif isinstance(data, list | tuple):
        for one in data:
            _collect(one, found)
    elif isinstance(data, str | int | float) and not isinstance(data, bool):
        found.append(str(data))
