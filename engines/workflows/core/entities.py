"""The entities that workflows read and change, as records of the portal: the seed's things of a game are records here (S003-M5).

An activity that is made is a to-do of its record.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from engines.workflows.core.results import EntityType, OperationType
from state.stored import JsonObject


@dataclass(frozen=True, slots=True)
class Entity:
    """A kind of records: the methods of the portal that read, list, make, change and delete them, and their names of number and fields."""

    get_method: str
    list_method: str
    add_method: str
    update_method: str
    delete_method: str
    id_parameter: str = "id"
    fields_parameter: str = "fields"
    is_made_flat: bool = False
    """Whether the method that makes one takes its fields as parameters of their own."""
    made_id: str = ""
    """Where the answer of that method holds the number, as the end of a reference of a batch; "" if the answer is the number."""

    def build_add_params(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of the method that makes a record with these fields."""
        return dict(fields) if self.is_made_flat else {self.fields_parameter: dict(fields)}

    def find_method(self, operation: OperationType) -> str:
        """Return the method that does an operation."""
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
"""An underscore that does not stand between two digits."""
_OTHER_NAMES: Final[Mapping[tuple[str, str], str]] = {
    ("lead", "stageid"): "statusid",
    ("lead", "stagesemanticid"): "statussemanticid",
    ("company", "typeid"): "companytype",
}
"""Names that are no other spelling, without `_` and in small letters, by kind of record: calls write the field of the second name."""


def find_entity(kind: EntityType) -> Entity:
    """Return what is known of a kind of records."""
    return ENTITIES[kind]


def find_field(record: JsonObject, key: str, kind: str = "") -> Any:
    """Return the value of a field, whose name may be spelled as `find_field_name` says; None if there is none."""
    name = find_field_name(record, key, kind)
    return record[name] if name is not None else None


def find_field_name(record: JsonObject, key: str, kind: str = "") -> str | None:
    """Return how the record itself spells the name of a field, None if it has none of this name, or several that could be meant.

    `kind` is that of the record, such as lead, in which some fields have a second name. The same with the names of fields in anything else
    that is keyed by them.
    """
    if key in record:
        return key
    field_names = list_field_names(record, key, kind)
    return field_names[0] if len(field_names) == 1 else None


def list_field_names(record: JsonObject, key: str, kind: str = "") -> list[str]:
    """Return the names of all fields of a record that could be meant by another spelling."""
    return [name for name in record if _is_same_name(name, key, kind)]


def _is_same_name(one: str, other: str, kind: str) -> bool:
    """Return whether two names are spellings of one field: UF_CRM_1 and ufCrm_1, but neither UF_CRM_1_23 and UF_CRM_12_3 nor ufCrm12_3.

    In capitals a field of the company's own is spelled as the portal spells it, so there each underscore counts; elsewhere those between
    digits do.
    """
    if _is_portals_own(one) and _is_portals_own(other):
        return one == other
    return _fold(one, kind) == _fold(other, kind)


def _is_portals_own(name: str) -> bool:
    return name.startswith("UF_") and name.isupper()


def _fold(key: str, kind: str) -> str:
    folded = _LOOSE.sub("", key).casefold()
    return _OTHER_NAMES.get((kind, folded), folded)
