from collections.abc import Iterator, Mapping
from typing import Any, Final

from orchestrator.domain.effect import Provenance
from orchestrator.domain.taint import FOREIGN, NOWHERE, Origins, Value, join_origins, split_values
from orchestrator.runs.foreign_texts import ForeignTexts
from state.stored import JsonObject

_OWN: Final[Origins] = frozenset({"definition", "person"})
"""Origins whose words are a wish."""
_AUTHOR: Final[Origins] = frozenset({"definition"})


def build_provenance(params: Mapping[str, Any], foreign: ForeignTexts) -> tuple[JsonObject, Provenance]:
    """(the params without origins, what the gate must know of them).

    Whatever is not the program's own must be a `Value`. Foreign text makes a person be asked; words of author and person name records,
    labels and model answers name nothing.
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
    """Of the arguments of a later run, which must still know what strangers may have written."""
    whole = args.origins if isinstance(args, Value) else NOWHERE
    plain_args = args.data if isinstance(args, Value) else args
    if not isinstance(plain_args, Mapping):
        return {}
    origins_by_name: dict[str, list[str]] = {}
    for name, arg in plain_args.items():
        data, values = split_values(arg)
        origins_by_name[str(name)] = [str(origin) for origin in sorted(foreign.find_origins(data, whole | join_origins(values)))]
    return origins_by_name


def _list_texts(value: Value) -> list[str]:
    texts: list[str] = []
    _collect(value.data, texts)
    return texts


def _list_keys(data: object) -> Iterator[str]:
    if isinstance(data, Mapping):
        yield from map(str, data)
    if isinstance(data, Mapping | list | tuple):
        for part in data.values() if isinstance(data, Mapping) else data:
            yield from _list_keys(part)


def _collect(data: object, texts: list[str]) -> None:
    if isinstance(data, Mapping):
        for part in data.values():
            _collect(part, texts)
    elif isinstance(data, list | tuple):
        for part in data:
            _collect(part, texts)
    elif isinstance(data, str | int | float) and not isinstance(data, bool):
        texts.append(str(data))
