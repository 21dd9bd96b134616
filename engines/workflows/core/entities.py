"""The records of the portal that workflows read and change (S003-M5)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from engines.workflows.core.results import EntityType, OperationType
from state.stored import JsonObject


@dataclass(frozen=True, slots=True)
class Entity:
    get_method: str
    list_method: str
    add_method: str
    update_method: str
    delete_method: str
    id_parameter: str = "id"
    fields_parameter: str = "fields"
    is_made_flat: bool = False
    """The fields of a new one are parameters of their own."""
    made_id: str = ""
    """Ends a batch reference to the new number; "" if the answer is the number."""

    def build_add_params(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        return dict(fields) if self.is_made_flat else {self.fields_parameter: dict(fields)}

    def find_method(self, operation: OperationType) -> str:
        return {"CreateEntity": self.add_method, "ModifyEntity": self.update_method, "DeleteEntity": self.delete_method}[operation]


def _name_crm(kind: str) -> Entity:
    return Entity(f"crm.{kind}.get", f"crm.{kind}.list", f"crm.{kind}.add", f"crm.{kind}.update", f"crm.{kind}.delete")


ENTITIES: Final[Mapping[str, Entity]] = {
    **{kind: _name_crm(kind) for kind in ("deal", "lead", "contact", "company")},
    "activity": Entity(
        "crm.activity.get",
        "crm.activity.list",
        "crm.activity.todo.add",
        "crm.activity.update",
        "crm.activity.delete",
        is_made_flat=True,
        made_id="[id]",
    ),
    "task": Entity(
        "tasks.task.get",
        "tasks.task.list",
        "tasks.task.add",
        "tasks.task.update",
        "tasks.task.delete",
        id_parameter="taskId",
        made_id="[task][id]",
    ),
}
"""By the name that authors write; see `EntityType`."""
_LOOSE: Final = re.compile(r"_(?![0-9])|(?<![0-9])_", re.ASCII)
_OTHER_NAMES: Final[Mapping[tuple[str, str], str]] = {
    ("lead", "stageid"): "statusid",
    ("lead", "stagesemanticid"): "statussemanticid",
    ("company", "typeid"): "companytype",
}
"""Second names of fields, folded, by kind of record."""


def find_entity(kind: EntityType) -> Entity:
    return ENTITIES[kind]


def find_field(record: JsonObject, key: str, kind: str = "") -> Any:
    """Spelling as in `find_field_name`; None if there is none."""
    name = find_field_name(record, key, kind)
    return record[name] if name is not None else None


def find_field_name(record: JsonObject, key: str, kind: str = "") -> str | None:
    """Return the record's own spelling of a field, None if it has none or several could be meant.

    `kind`, such as lead, decides about second names.
    """
    if key in record:
        return key
    field_names = list_field_names(record, key, kind)
    return field_names[0] if len(field_names) == 1 else None


def list_field_names(record: JsonObject, key: str, kind: str = "") -> list[str]:
    return [name for name in record if _is_same_name(name, key, kind)]


def _is_same_name(name: str, other: str, kind: str) -> bool:
    """UF_CRM_1 and ufCrm_1 are one field; UF_CRM_1_23 is neither UF_CRM_12_3 nor ufCrm12_3."""
    if _is_portals_own(name) and _is_portals_own(other):
        return name == other
    return _fold(name, kind) == _fold(other, kind)


def _is_portals_own(name: str) -> bool:
    return name.startswith("UF_") and name.isupper()


def _fold(key: str, kind: str) -> str:
    folded = _LOOSE.sub("", key).casefold()
    return _OTHER_NAMES.get((kind, folded), folded)
