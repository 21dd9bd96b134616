"""The records of the portal that workflows read and change (S003-M5), and how values of their fields are compared and computed.

The type of a field is not known, so a text is a number only in the one form in which numbers are written; in doubt two values differ, and
nothing is computed (S003-X9, S003-X10).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, DecimalException, localcontext
from typing import Any, Final

from engines.workflows.core.results import AtomicOperation, EntityType, OperationType
from orchestrator.engines.runs import RunFailed
from orchestrator.expressions.placeholders import format_value
from state.canonical import dumps
from state.stored import JsonObject

_DIGITS: Final = 40
"""Digits of a computed number, and zeros before or behind them."""
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?", re.ASCII)
_SUM: Final = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]{2}(?:[0-9]{2})?", re.ASCII)
"""A sum or a price of the portal: 100.00, 100.0000."""
_MONEY: Final = re.compile(r"(.+)\|([A-Z]{3})", re.ASCII)
"""Money in a field of the company's own: 100|RUB."""
_BEGINS_AS_NUMBER: Final = re.compile(r"\s*[-+.,]*[0-9]")
_FLAGS: Final = {"Y": True, "1": True, "N": False, "0": False}


@dataclass(frozen=True, slots=True)
class _Amount:
    number: Decimal
    currency: str = ""


def is_same(left: Any, other: Any) -> bool:
    """False in doubt.

    100, "100" and "100.00" are the same, but "007" and "7", "1.0" and "1" may be articles or phones. All forms of nothing are the same;
    flags equal Y/N and 1/0; order counts in lists.
    """
    if _is_empty(left) or _is_empty(other):
        return _is_empty(left) and _is_empty(other)
    if isinstance(left, list) and isinstance(other, list):
        return len(left) == len(other) and all(map(_is_same_plain, left, other))
    return _is_same_plain(left, other)


def _is_same_plain(left: Any, other: Any) -> bool:
    """Lists and objects are the same if they are written the same."""
    if isinstance(left, list | dict | None) or isinstance(other, list | dict | None):
        return dumps(left) == dumps(other)
    if isinstance(left, bool) or isinstance(other, bool):
        return _to_flag(left) is not None and _to_flag(left) == _to_flag(other)
    first, second = _read_amount(left), _read_amount(other)
    if first is None or second is None or (isinstance(left, str) and isinstance(other, str) and not _is_sum(left, other)):
        return str(left) == str(other)
    return first == second


def _is_sum(left: str, other: str) -> bool:
    return bool(_SUM.fullmatch(left) or _SUM.fullmatch(other) or (_MONEY.fullmatch(left) and _MONEY.fullmatch(other)))


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {})


def _to_flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else _FLAGS.get(str(value))


def _read_amount(value: Any) -> _Amount | None:
    """None if it is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value)
    money = _MONEY.fullmatch(text)
    digits, currency = (money[1], money[2]) if money else (text, "")
    if isinstance(value, str) and not _NUMBER.fullmatch(digits):
        return None
    number = Decimal(digits)
    return _Amount(number, currency) if number.is_finite() else None


def compute_value(operation: AtomicOperation, before: Any) -> Any:
    """Texts can only be added to, and a sum keeps its currency. Raises RunFailed for what makes no sense."""
    operator, change = operation.modify_operator, operation.modify_value
    left, right = _read_amount(_strip(before)), _read_amount(_strip(change))
    if left is not None and right is not None:
        return _compute_amount(operation, left, right)
    is_text = isinstance(before, str | None) and isinstance(change, str)
    if operator == "+=" and is_text and not (left is not None and _is_glued(str(before), change)):
        return f"{format_value(before)}{change}"
    raise refuse_computing(operation)


def _compute_amount(operation: AtomicOperation, left: _Amount, right: _Amount) -> str:
    operator = str(operation.modify_operator)
    if right.currency and (operator not in {"+=", "-="} or right.currency != left.currency):
        raise refuse_computing(operation)
    try:
        with localcontext() as precision:
            precision.prec, precision.Emax, precision.Emin = _DIGITS, _DIGITS, -_DIGITS
            count = {"+=": Decimal.__add__, "-=": Decimal.__sub__, "*=": Decimal.__mul__, "/=": Decimal.__truediv__}[operator]
            number = format(count(left.number, right.number).normalize(), "f")
    except DecimalException:
        raise refuse_computing(operation) from None
    return f"{number}|{left.currency}" if left.currency else number


def _is_glued(before: str, change: str) -> bool:
    return bool(_BEGINS_AS_NUMBER.match(change) or _SUM.fullmatch(before.strip()) or _MONEY.fullmatch(before.strip()))


def _strip(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def refuse_computing(operation: AtomicOperation) -> RunFailed:
    key = operation.attribute_key or ""
    return RunFailed("workflow-operations-uncomputed", f"{key} {operation.modify_operator} cannot be computed", name=key)


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
