"""Judges what the gate lets through and the portal ignores in silence: names in selects, orders, keys of rows, contacts and activities."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from bitrix.catalogue.catalogue import ALSO_FILTERED, TASKS_FILTERED, Method
from bitrix.catalogue.names import CRM, MULTIFIELDS, find_kind_number, is_classic, to_universal
from orchestrator.definitions.calls import LATER, CallMistake
from orchestrator.directory.reference_data import Field
from orchestrator.directory.standard_fields import list_standard_fields
from orchestrator.domain.finding import Path
from orchestrator.domain.suggestions import suggest_name
from orchestrator.rehearsals.call_lists import is_own_field
from orchestrator.rehearsals.call_sketch import OPEN, Sketch
from state.stored import JsonObject

_OPERATOR: Final = re.compile(r"^[!=<>@%?~]*")
_EXACT: Final = frozenset({"", "=", "@", "!", "!=", "!@", "=!"})
"""They compare with whole values."""
_ANY: Final = re.compile(r".*[*.].*")
_READ_BESIDE: Final = frozenset(
    {*ALSO_FILTERED, "CONTACTS", "OBSERVERS", "PARENT_ID", "COMMUNICATIONS", "PREVIOUS_STAGE_ID", "XML_ID", "ENTITY_TYPE_ID"}
)
_TASKS_BESIDE: Final = frozenset(
    {*TASKS_FILTERED, "NEW_COMMENTS_COUNT", "CHECKLIST", "TAGS", "ACTION", "COUNTERS", "DURATION", "TIME_SPENT"}
)
_ROWS: Final = "products"
DIRECTIONS: Final = ("ASC", "DESC")
_DIRECTION: Final = re.compile(r"(?:asc|desc)(?:,\s*nulls)?", re.IGNORECASE)
Fields = Literal["productrow", "multifield"]


@dataclass(frozen=True, kw_only=True)
class WrittenName:
    """Of a field, where the gate does not look at it."""

    path: Path
    name: str
    fields: str
    of_value: bool = False
    """As an element of `select` does."""


@dataclass(frozen=True, kw_only=True)
class Condition:
    path: Path
    name: str
    value: str


def find_fields_of(spec: Method, entity: str) -> str:
    """ "" if there is none to look at; `entity` is the kind of the record."""
    family, _, verb = spec.name.rpartition(".")
    if family == "crm.item" and verb == "list":
        number = find_kind_number(entity)
        return f"item:{number}" if number is not None else ""
    if spec.name == "tasks.task.list":
        return "task"
    if family == "crm.activity" and verb in {"add", "update", "list"}:
        return "activity"
    return entity if verb == "list" and entity in CRM.values() and family.partition(".")[2] == entity else ""


def list_beside(fields: str) -> frozenset[str]:
    return _TASKS_BESIDE if fields == "task" else _READ_BESIDE


def list_names(spec: Method, params: Mapping[str, object], fields: str) -> Iterator[WrittenName]:
    for param, argument in params.items():
        key = param.lower()
        if fields and spec.verb == "list" and key in {"select", "order", "filter"}:
            yield from _list_read_names(key, param, argument, fields)
        elif fields and spec.verb != "list" and param == spec.fields_at and isinstance(argument, Mapping):
            yield from (WrittenName(path=(param, name), name=name, fields=fields) for name in argument)
        if param == spec.fields_at and not spec.reads_only and isinstance(argument, Mapping):
            yield from _list_multifield_keys(param, argument)
            if spec.entity == "productrow":
                yield from (WrittenName(path=(param, name), name=name, fields="productrow") for name in argument)
        if spec.replaces.get(param) == _ROWS and isinstance(argument, list):
            yield from _list_keys((param,), argument, "productrow")


def _list_read_names(key: str, param: str, argument: object, fields: str) -> Iterator[WrittenName]:
    if key == "select":
        names = argument if isinstance(argument, list) else []
        pairs = [((param, at), name) for at, name in enumerate(names) if isinstance(name, str)]
        names_here = [WrittenName(path=path, name=name, fields=fields, of_value=True) for path, name in pairs]
    elif key == "order":
        names_here = [
            WrittenName(path=(param, name), name=name, fields=fields) for name in (argument if isinstance(argument, Mapping) else ())
        ]
    elif fields.startswith("item:") or fields == "activity":  # the gate looks at the filters of all others
        names_here = [WrittenName(path=path, name=name, fields=fields) for path, name, _ in _list_conditions((param,), argument)]
    else:
        names_here = []
    yield from (one for one in names_here if not _ANY.fullmatch(one.name))


def list_conditions(params: Mapping[str, object]) -> Iterator[Condition]:
    """Also in groups."""
    for param, argument in params.items():
        for path, name, operator in _list_conditions((param,), argument) if param.lower() == "filter" else ():
            value: object = argument
            for part in path[1:]:
                value = value[part]  # type: ignore[index]  # the path is one of it
            for at, operand in enumerate(value) if isinstance(value, list) else [(-1, value)]:
                if operator in _EXACT and isinstance(operand, str) and operand:
                    yield Condition(path=path if at < 0 else (*path, at), name=name, value=operand)


def _list_conditions(above: Path, conditions: object) -> Iterator[tuple[Path, str, str]]:
    """(place, field, operator)."""
    if isinstance(conditions, list):
        for at, group in enumerate(conditions):
            yield from _list_conditions((*above, at), group)
    for name, value in conditions.items() if isinstance(conditions, Mapping) else ():
        if str(name).isdigit():
            yield from _list_conditions((*above, name), value)
        elif str(name).lower() != "logic":
            matched = _OPERATOR.match(name)
            operator = matched[0] if matched is not None else ""
            yield (*above, name), name[len(operator) :], operator


def _list_multifield_keys(param: str, fields: Mapping[str, object]) -> Iterator[WrittenName]:
    for name, value in fields.items():
        if name.upper() in {*MULTIFIELDS, "FM"} and isinstance(value, list):
            yield from _list_keys((param, name), value, "multifield")


def _list_keys(above: Path, rows: list[object], fields: Fields) -> Iterator[WrittenName]:
    for at, row in enumerate(rows):
        yield from (WrittenName(path=(*above, at, key), name=key, fields=fields) for key in (row if isinstance(row, Mapping) else ()))


def list_wrong_directions(spec: Method, params: Mapping[str, object]) -> Iterator[tuple[Path, str]]:
    for param, argument in params.items() if spec.verb == "list" else ():
        for name, value in argument.items() if param.lower() == "order" and isinstance(argument, Mapping) else ():
            if isinstance(value, str) and not _DIRECTION.fullmatch(value.strip()):
                yield (param, name), value


ALIKE: Final = frozenset({"", "activity", "productrow", "multifield"})
_WHOLE: Final = frozenset({"productrow", "multifield"})
"""They hold all that any portal takes."""
_NUMBER: Final = "entityTypeId"


def check_names(sketch: Sketch, names: Iterable[WrittenName], known: Mapping[str, Field] | None) -> Iterator[CallMistake]:
    """Without `known` fields a name like none, or perhaps the company's own, is only a warning."""
    for written_name in names:
        standard = list_standard_fields(written_name.fields)
        known_fields = {**standard, **(known or {})} if written_name.fields not in ALIKE else standard
        beside = list_beside(written_name.fields) if sketch.spec.verb == "list" else ()
        keys = {sketch.fold(name) for name in (*known_fields, *(field.upper_name for field in known_fields.values()), *beside)}
        if not known_fields or LATER in written_name.name or sketch.fold(written_name.name) in keys:
            continue
        if not known and is_own_field(written_name.name, written_name.fields):
            yield CallMistake(
                code="finding-call-own-field",
                args={"name": written_name.name},
                path=written_name.path,
                of_value=written_name.of_value,
                severity="warning",
            )
            continue
        near = suggest_name(written_name.name, known_fields if is_classic(written_name.name) else map(to_universal, known_fields))
        above = [part for part in written_name.path[:-1] if isinstance(part, str)]
        yield CallMistake(
            code="finding-call-field",
            args={"method": sketch.spec.name, "name": ".".join([*above, written_name.name])},
            path=written_name.path,
            of_value=written_name.of_value,
            severity="error" if near or known or written_name.fields in _WHOLE else "warning",
            suggestion=near,
        )


def check_directions(sketch: Sketch, params: JsonObject) -> Iterator[CallMistake]:
    for path, value in list_wrong_directions(sketch.spec, params):
        if LATER not in value:
            yield _build_choice(path, ".".join(map(str, path)), value, suggest_name(value, DIRECTIONS))


def check_number(sketch: Sketch, params: JsonObject) -> Iterator[CallMistake]:
    if sketch.spec.target_entity != f"@{_NUMBER}" or sketch.entity:
        return
    for name, value in params.items():
        if name.lower() == _NUMBER.lower() and not any(sign in str(value) for sign in (LATER, OPEN)):
            near = suggest_name(str(value), CRM.values())
            yield _build_choice((name,), name, str(value), next((str(number) for number, kind in CRM.items() if kind == near), ""))


def check_condition(condition: Condition, values: Mapping[str, str]) -> CallMistake | None:
    """`values` is value → name; None without a list."""
    if not values or condition.value in values or LATER in condition.value:
        return None
    by_name = {name: code for code, name in reversed(list(values.items()))}
    near = by_name.get(condition.value) or suggest_name(condition.value, values)
    return _build_choice(condition.path, condition.name, condition.value, near)


def _build_choice(path: Path, name: str, value: str, meant: str) -> CallMistake:
    return CallMistake(code="finding-call-choice", args={"name": name, "value": value}, path=path, of_value=True, suggestion=meant)
