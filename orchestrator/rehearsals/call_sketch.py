"""Mends a call's parameters while they are looked at, so that more mistakes are found."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from bitrix.catalogue.catalogue import Method
from bitrix.catalogue.names import to_field_key
from bitrix.client.batch import find_references
from orchestrator.definitions.calls import LATER
from orchestrator.domain.finding import Path
from orchestrator.gate.call.effect import Refuse
from state.canonical import map_leaves
from state.stored import JsonObject

OPEN: Final = "$result[later]"
"""What the gate takes for a value not known yet."""
OPEN_FIELD: Final = "UF_CRM_LATER"
"""Among fields of which not all names are known."""
MISSING: Final = frozenset({"gate-param-missing", "gate-responsible"})
_OF_WHOLE_PATH: Final = MISSING | {"gate-param-unknown", "gate-param-invalid"}
"""They name a whole path; others may name a field alone."""
_NAME: Final = re.compile(r"(?:[\w$-]+: )?(\S+)")
_PREFIX: Final = re.compile(r"^[!=<>@%?]*")
Draft = dict[str, Any]


def read_name(verdict: Refuse) -> str:
    """As a dotted path."""
    matched = _NAME.match(str(verdict.reason.args.get("param", "")))
    return matched[1] if matched is not None else ""


def get_at(tree: Any, place: Path) -> Any:
    for part in place:
        tree = tree[part]
    return tree


def take_out(tree: Any, place: Path) -> None:
    """In a list `OPEN` takes its place."""
    holder, last = get_at(tree, place[:-1]), place[-1]
    if isinstance(last, int):
        holder[last] = OPEN
    else:
        del holder[last]


@dataclass(kw_only=True)
class Sketch:
    spec: Method
    entity: str
    draft: Draft
    _renamed: dict[Path, str] = field(default_factory=dict)
    """What the author wrote, by place."""

    def get(self, place: Path) -> Any:
        return get_at(self.draft, place)

    def fold(self, name: object) -> str:
        """A key for all spellings, aliases and conditions of a field."""
        return to_field_key(_PREFIX.sub("", str(name)), self.entity)

    def find_place(self, verdict: Refuse) -> Path | None:
        """None for what is missing."""
        parts = tuple(read_name(verdict).split("."))
        starts = [(), (self.spec.fields_at,) if self.spec.fields_at else (), ("filter",)]
        if verdict.reason.code not in _OF_WHOLE_PATH:
            starts[:2] = reversed(starts[:2])
        for start in starts:
            if (place := self._follow((*start, *parts))) is not None:
                return place
        return next(self._find_deep(self.draft, parts[-1]), None)

    def find_holder(self, verdict: Refuse) -> Path:
        """Where the missing should stand."""
        return self._follow(self._list_missing(verdict)[:-1]) or ()

    def find_written(self, params: object, place: Path) -> Path:
        """As its author wrote it, or the nearest one above."""
        own_place: list[str | int] = []
        for at, part in enumerate(place, start=1):
            name = self._renamed.get(place[:at], part)
            is_there = name in params if isinstance(params, Mapping) else isinstance(params, list) and name in range(len(params))
            if not is_there:
                break
            own_place.append(name)
            params = params[name]  # type: ignore[index]  # it is a map or a list that has it
        return tuple(own_place)

    def drop(self, place: Path) -> None:
        """What stands beside it is left open."""
        holder = self.get(place[:-1])
        del holder[place[-1]]
        self._open_fields(place[:-1], holder)

    def mend(self, place: Path | None, verdict: Refuse, meant: str | None) -> bool:
        """Return False if it cannot. `meant`: "" for no known name; None if the value is wrong."""
        if place is None:
            return self._add_missing(verdict)
        if meant == "":
            self.drop(place)
            return True
        holder, last = self.get(place[:-1]), place[-1]
        if meant is not None:
            prefix = _PREFIX.match(str(last))
            name = f"{prefix[0] if prefix else ''}{meant}"
            holder.setdefault(name, holder.pop(last))
            self._renamed.setdefault((*place[:-1], name), str(last))
        else:
            self._open_value(place)
        return True

    def _open_value(self, place: Path) -> None:
        """Out of a map that is looked at as a whole it is taken, so that all else stays."""
        if isinstance(place[-1], str) and self._is_inside(place):
            take_out(self.draft, place)
        else:
            self.get(place[:-1])[place[-1]] = self._build_open(place)

    def _is_inside(self, place: Path) -> bool:
        """Nothing may be left open inside of a value looked at as a whole."""
        return len(place) > (2 if self._is_fields(place[:1]) else 1)

    def _add_missing(self, verdict: Refuse) -> bool:
        parts = self._list_missing(verdict)
        if not parts or verdict.reason.code not in MISSING:
            return False
        holder = self.draft
        for part in parts[:-1]:
            holder = holder.setdefault(part, {})
        holder[parts[-1]] = self._build_open(parts)
        return True

    def _list_missing(self, verdict: Refuse) -> tuple[str, ...]:
        """The portal's list of fields names it without one."""
        name = read_name(verdict)
        parts = tuple(name.split(".")) if name else ()
        is_field = len(parts) == 1 and self.spec.fields_at and parts[0].lower() not in self.spec.param_names
        return (self.spec.fields_at, *parts) if is_field else parts

    def _is_fields(self, place: Path) -> bool:
        return bool(self.spec.fields_at) and [self.fold(part) for part in place] == [self.fold(self.spec.fields_at)]

    def _open_fields(self, place: Path, holder: Draft) -> None:
        if self._is_fields(place):
            holder[OPEN_FIELD] = OPEN

    def _build_open(self, place: Path) -> object:
        """A map for the fields, else a value."""
        return {OPEN_FIELD: OPEN} if self._is_fields(place) else OPEN

    def _follow(self, parts: Sequence[str | int]) -> Path | None:
        place: list[str | int] = []
        inner: object = self.draft
        for part in parts:
            names = list(inner) if isinstance(inner, Mapping) else []
            name = next((one for one in names if one == part), None) or next(
                (one for one in names if self.fold(one) == self.fold(part)), None
            )
            if name is None:
                return None
            place.append(name)
            inner = inner[name]  # type: ignore[index]  # it is the mapping of the names
        return tuple(place)

    def _find_deep(self, tree: object, name: str, above: Path = ()) -> Iterator[Path]:
        pairs = tree.items() if isinstance(tree, Mapping) else enumerate(tree) if isinstance(tree, list) else ()
        for key, inner in pairs:
            if isinstance(key, str) and self.fold(key) == self.fold(name):
                yield (*above, key)
            yield from self._find_deep(inner, name, (*above, key))


def list_leaves(tree: object, above: Path) -> Iterator[Path]:
    pairs = tree.items() if isinstance(tree, Mapping) else enumerate(tree) if isinstance(tree, list) else ()
    for key, inner in pairs:
        if isinstance(inner, Mapping | list):
            yield from list_leaves(inner, (*above, key))
        else:
            yield (*above, key)


def open_references(tree: object) -> object:
    """What other commands of the batch give is left open."""
    return map_leaves(tree, lambda leaf: LATER if find_references(leaf) else leaf)


def open_fields(spec: Method, params: JsonObject) -> tuple[Draft, bool]:
    """Return (parameters as the gate reads them, whether names are unknown)."""
    draft: Draft = {name: _open(one) for name, one in params.items() if LATER not in name}
    is_partial = len(draft) < len(params)
    for name in [one for one in draft if spec.fields_at and to_field_key(one) == to_field_key(spec.fields_at)]:
        fields = params[name]
        if fields and (is_open(fields) or (isinstance(fields, Mapping) and any(LATER in str(key) for key in fields))):
            is_partial = True
            rest = draft[name] if isinstance(draft[name], Mapping) else {}
            draft[name] = {**rest, OPEN_FIELD: OPEN}
    return draft, is_partial


def _open(tree: object) -> object:
    if isinstance(tree, Mapping):
        return {key: _open(one) for key, one in tree.items() if LATER not in str(key)}
    if isinstance(tree, list):
        return [_open(one) for one in tree]
    return tree.replace(LATER, OPEN) if isinstance(tree, str) else tree


def is_open(value: object) -> bool:
    return isinstance(value, str) and LATER in value


def has_open(tree: object) -> bool:
    if isinstance(tree, Mapping):
        return any(has_open(one) for one in tree.values()) or any(LATER in str(key) for key in tree)
    if isinstance(tree, list):
        return any(map(has_open, tree))
    return isinstance(tree, str) and (LATER in tree or OPEN in tree)
