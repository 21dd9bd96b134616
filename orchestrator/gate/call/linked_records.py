"""Finds the records, other than its own target, to which a call attaches something. Pure.

That changes the page of the other record. So it is checked like a target: it must exist, and the actor must be allowed to see it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from bitrix.catalogue.catalogue import Catalogue, Method
from orchestrator.gate.call import fields, targets
from state.stored import JsonObject

_BINDING = (("entityTypeId", "entityId"),)
_PAIRS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "crm.activity.binding.add": _BINDING,
    "crm.activity.binding.delete": _BINDING,
    "crm.activity.binding.move": (("sourceEntityTypeId", "sourceEntityId"), ("targetEntityTypeId", "targetEntityId")),
    "crm.activity.update": (("fields.OWNER_TYPE_ID", "fields.OWNER_ID"),),
}
_TASKS: Mapping[str, str] = {"task.dependence.add": "taskIdTo", "task.dependence.delete": "taskIdTo"}
_CODED = frozenset({"ufcrmtask", "crmfields"})
"""Fields that hold lists of codes such as D_500."""


@dataclass(frozen=True, kw_only=True)
class LinkedRecord:
    """A record, other than the call's target, whose id stands in the parameter at `path` as `written`."""

    path: str
    entity: str
    written: object

    @property
    def number(self) -> int | None:
        """The record's id as a number; None if the given id is a reference `$result[...]` or malformed."""
        return targets.as_id(self.written)


def find_bound_records(spec: Method, params: JsonObject, catalogue: Catalogue) -> tuple[LinkedRecord, ...]:
    """Return the records, other than its target, to which this call attaches something; `entity` is "" where the kind is unknown."""
    if spec.reads_only:
        return ()
    return tuple(_collect_bound_records(spec, params, catalogue))


def _collect_bound_records(spec: Method, params: JsonObject, catalogue: Catalogue) -> Iterator[LinkedRecord]:
    for kind_at, id_at in _PAIRS.get(spec.name, ()):
        written = targets.get_at_path(params, id_at)
        if written not in (None, ""):
            yield LinkedRecord(path=id_at, entity=_find_kind(targets.get_at_path(params, kind_at), catalogue), written=written)
    second = _TASKS.get(spec.name)
    if second is not None and params.get(second) not in (None, ""):
        yield LinkedRecord(path=second, entity="task", written=params[second])
    place = params.get(spec.fields_at) if spec.fields_at else params
    for name, value in place.items() if isinstance(place, Mapping) else ():
        key = fields.to_field_key(name)
        if key not in _CODED and key != "bindings":
            continue
        path = f"{spec.fields_at}.{name}".lstrip(".")
        if key in _CODED:
            yield from (_parse_coded(path, item, catalogue) for item in list_elements(value) if item not in (None, "", False))
        else:
            yield from (_parse_binding(path, item, catalogue) for item in list_elements(value))


def _parse_coded(path: str, item: object, catalogue: Catalogue) -> LinkedRecord:
    """Return the record for a code such as D_500 (deal 500), CO_3 or T81_7; `entity` is "" for an unknown kind."""
    code, _, number = str(item).strip().partition("_")
    return LinkedRecord(path=path, entity=_find_kind(code, catalogue), written=number)


def _parse_binding(path: str, item: object, catalogue: Catalogue) -> LinkedRecord:
    if not isinstance(item, Mapping):
        return LinkedRecord(path=path, entity="", written=item)
    kind = fields.find_value(item, "OWNER_TYPE_ID") or fields.find_value(item, "ENTITY_TYPE_ID")
    return LinkedRecord(
        path=path, entity=_find_kind(kind, catalogue), written=fields.find_value(item, "OWNER_ID") or fields.find_value(item, "ENTITY_ID")
    )


def _find_kind(written: object, catalogue: Catalogue) -> str:
    if isinstance(written, bool) or not isinstance(written, str | int):
        return ""
    return targets.find_entity_by_code(str(written).strip().lower(), catalogue)


def list_elements(value: object) -> Iterable[object]:
    """Return the elements of a list, or of the map into which PHP converts a list; any other value alone."""
    if isinstance(value, Mapping):
        return [value] if any(not name.isdecimal() for name in value) else list(value.values())
    return value if isinstance(value, list) else [value]
