"""Records that a call is attached to are checked like targets. Pure."""

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


@dataclass(frozen=True, kw_only=True)
class LinkedRecord:
    path: str
    entity: str
    written: object

    @property
    def number(self) -> int | None:
        """None if it is a reference `$result[...]` or malformed."""
        return targets.as_id(self.written)


def find_bound_records(spec: Method, params: JsonObject, catalogue: Catalogue) -> tuple[LinkedRecord, ...]:
    """`entity` is "" where the kind is unknown."""
    if spec.reads_only:
        return ()
    return tuple(_collect_bound_records(spec, params, catalogue))


def _collect_bound_records(spec: Method, params: JsonObject, catalogue: Catalogue) -> Iterator[LinkedRecord]:
    for kind_at, id_at in _PAIRS.get(spec.name, ()):
        id_text = targets.get_at_path(params, id_at)
        if id_text not in (None, ""):
            yield LinkedRecord(path=id_at, entity=_find_kind(targets.get_at_path(params, kind_at), catalogue), written=id_text)
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
    code, _, number = str(item).strip().partition("_")
    return LinkedRecord(path=path, entity=_find_kind(code, catalogue), written=number)


def _parse_binding(path: str, item: object, catalogue: Catalogue) -> LinkedRecord:
    if not isinstance(item, Mapping):
        return LinkedRecord(path=path, entity="", written=item)
    kind = fields.find_value(item, "OWNER_TYPE_ID") or fields.find_value(item, "ENTITY_TYPE_ID")
    return LinkedRecord(
        path=path, entity=_find_kind(kind, catalogue), written=fields.find_value(item, "OWNER_ID") or fields.find_value(item, "ENTITY_ID")
    )


def _find_kind(code: object, catalogue: Catalogue) -> str:
    if isinstance(code, bool) or not isinstance(code, str | int):
        return ""
    return targets.find_entity_by_code(str(code).strip().lower(), catalogue)


def list_elements(value: object) -> Iterable[object]:
    """PHP converts some lists to maps; any other value stands alone."""
    if isinstance(value, Mapping):
        return [value] if any(not name.isdecimal() for name in value) else list(value.values())
    return value if isinstance(value, list) else [value]
