"""Judges what the gate lets through and the portal ignores in silence."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from bitrix.catalogue.names import CRM, is_classic, to_universal
from orchestrator.definitions.calls import LATER, CallMistake
from orchestrator.directory.reference_data import Field
from orchestrator.domain.finding import Path
from orchestrator.domain.suggestions import suggest_name
from orchestrator.rehearsals import standard_portal
from orchestrator.rehearsals.call_names import DIRECTIONS, Condition, WrittenName, list_beside, list_wrong_directions
from orchestrator.rehearsals.call_sketch import OPEN, Sketch
from state.stored import JsonObject

ALIKE: Final = frozenset({"", "activity", "productrow", "multifield"})
_WHOLE: Final = frozenset({"productrow", "multifield"})
"""They hold all that any portal takes."""
_NUMBER: Final = "entityTypeId"


def check_names(sketch: Sketch, names: Iterable[WrittenName], known: Mapping[str, Field] | None) -> Iterator[CallMistake]:
    """Without `known` fields a name like none, or perhaps the company's own, is only a warning."""
    for written_name in names:
        standard = standard_portal.list_fields(written_name.fields)
        known_fields = {**standard, **(known or {})} if written_name.fields not in ALIKE else standard
        beside = list_beside(written_name.fields) if sketch.spec.verb == "list" else ()
        keys = {sketch.fold(name) for name in (*known_fields, *(field.upper_name for field in known_fields.values()), *beside)}
        if not known_fields or LATER in written_name.name or sketch.fold(written_name.name) in keys:
            continue
        if not known and standard_portal.is_own_field(written_name.name, written_name.fields):
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
