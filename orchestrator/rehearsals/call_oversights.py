"""Judges what the gate lets through in a call and the portal ignores in silence: names, directions and values of lists, keys of rows."""

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
"""The lists of fields that no portal is asked for."""
_WHOLE: Final = frozenset({"productrow", "multifield"})
"""The lists that are known to have all that any portal takes."""
_NUMBER: Final = "entityTypeId"


def check_names(sketch: Sketch, names: Iterable[WrittenName], known: Mapping[str, Field] | None) -> Iterator[CallMistake]:
    """Yield the names that no field has; `known` are the fields of the portal, None if it does not say them.

    Without it a name that is like none is a warning, and so is one that may be of the company's own.
    """
    for one in names:
        standard = standard_portal.list_fields(one.fields)
        listed = {**standard, **(known or {})} if one.fields not in ALIKE else standard
        beside = list_beside(one.fields) if sketch.spec.verb == "list" else ()
        keys = {sketch.fold(name) for name in (*listed, *(field.upper_name for field in listed.values()), *beside)}
        if not listed or LATER in one.name or sketch.fold(one.name) in keys:
            continue
        if not known and standard_portal.is_own_field(one.name, one.fields):
            yield CallMistake(
                code="finding-call-own-field", args={"name": one.name}, path=one.path, of_value=one.of_value, severity="warning"
            )
            continue
        near = suggest_name(one.name, listed if is_classic(one.name) else map(to_universal, listed))
        above = [part for part in one.path[:-1] if isinstance(part, str)]
        yield CallMistake(
            code="finding-call-field",
            args={"method": sketch.spec.name, "name": ".".join([*above, one.name])},
            path=one.path,
            of_value=one.of_value,
            severity="error" if near or known or one.fields in _WHOLE else "warning",
            suggestion=near,
        )


def check_directions(sketch: Sketch, params: JsonObject) -> Iterator[CallMistake]:
    """Yield the directions in which nothing can be sorted."""
    for path, value in list_wrong_directions(sketch.spec, params):
        if LATER not in value:
            yield _build_choice(path, ".".join(map(str, path)), value, suggest_name(value, DIRECTIONS))


def check_number(sketch: Sketch, params: JsonObject) -> Iterator[CallMistake]:
    """Yield the mistake of a kind of record that there is not."""
    if sketch.spec.target_entity != f"@{_NUMBER}" or sketch.entity:
        return
    for name, value in params.items():
        if name.lower() == _NUMBER.lower() and not any(sign in str(value) for sign in (LATER, OPEN)):
            near = suggest_name(str(value), CRM.values())
            yield _build_choice((name,), name, str(value), next((str(number) for number, kind in CRM.items() if kind == near), ""))


def check_condition(condition: Condition, values: Mapping[str, str]) -> CallMistake | None:
    """Return the mistake of a value in a filter that the list of its field (value → name) does not have; None if there is no list."""
    if not values or condition.value in values or LATER in condition.value:
        return None
    by_name = {name: code for code, name in reversed(list(values.items()))}
    near = by_name.get(condition.value) or suggest_name(condition.value, values)
    return _build_choice(condition.path, condition.name, condition.value, near)


def _build_choice(path: Path, name: str, value: str, meant: str) -> CallMistake:
    return CallMistake(code="finding-call-choice", args={"name": name, "value": value}, path=path, of_value=True, suggestion=meant)
