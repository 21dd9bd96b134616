"""Before-images hold only changed fields, owner and title. Pure.

With more, an unrelated edit would cause a second card, and the journal would collect customers' texts.
"""

from collections.abc import Mapping

from bitrix.catalogue.catalogue import Entity
from bitrix.catalogue.names import MULTIFIELDS
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.fields import to_field_key
from orchestrator.gate.call.replaced_lists import find_guests_place
from orchestrator.gate.call.targets import PRODUCT_ROW
from state.stored import JsonObject

PASSING = "passing"
"""The key of what a card shows and what may be otherwise a moment later: it is no part of what must stay the same."""
_ALWAYS_SHOWN = ("OPPORTUNITY", "CURRENCY_ID", "STAGE_ID", "STATUS_ID", "CATEGORY_ID", "STATUS", "REAL_STATUS")
_SHOWN_BEFORE_DELETE = (
    "OPPORTUNITY",
    "CURRENCY_ID",
    "STAGE_ID",
    "STATUS_ID",
    "CATEGORY_ID",
    "COMPANY_ID",
    "CONTACT_ID",
    "NAME",
    "LAST_NAME",
    "COMMENT",
)
_MANUAL_SUM = "IS_MANUAL_OPPORTUNITY"
_CONTEXT_FIELDS = {"opportunity": "CURRENCY_ID", "stageid": "CATEGORY_ID", "categoryid": "STAGE_ID"}
"""What gives a value its meaning: a sum needs its currency, a stage its funnel."""


def build_before_image(call: Call, facts: Facts) -> dict[str, JsonObject | None]:
    """By record such as "deal:481"; None for one that was not read."""
    if call.kind != "bitrix":
        return {name: image for name, image in facts.images.items() if name != PASSING}
    image: dict[str, JsonObject | None] = {}
    for part in call.commands or (call,):
        for target in (*part.targets, *find_guests_place(part)):
            name = f"{target[0]}:{target[1]}"
            fields_before = _select_shown_fields(part, facts.records.get(target), part.entities.get(target[0]))
            image[name] = fields_before if fields_before is None else {**(image.get(name) or {}), **fields_before}
        for tie in part.ties:
            name = f"{tie[0]}:{tie[1]}"
            image[name] = image.get(name) or _select_owner_fields(facts.records.get(tie), part.entities.get(tie[0]))
    return image


def find_context_field(name: str, entity: str) -> str:
    """Needed to interpret `name`, such as the currency for a sum; "" for most fields."""
    return _CONTEXT_FIELDS.get(to_field_key(name, entity), "")


def _select_owner_fields(record: JsonObject | None, entity: Entity | None) -> dict[str, object] | None:
    if record is None or entity is None:
        return None
    keys = {to_field_key(name, entity.name) for name in (entity.owner_field, *entity.also_owned_by, entity.title_field)}
    return {key: value for key, value in record.items() if to_field_key(key, entity.name) in keys}


def _select_shown_fields(call: Call, record: JsonObject | None, entity: Entity | None) -> dict[str, object] | None:
    if record is None:
        return None
    touched = call.params.get(call.spec.fields_at) if call.spec.fields_at else call.params
    names = set(touched) if isinstance(touched, Mapping) else set()
    names |= {*call.spec.replaces, *((_MANUAL_SUM,) if "products" in call.spec.replaces.values() else ())}
    names |= {call.spec.stands_for.get(name, name) for name in names}
    if any(name.upper() == "FM" for name in names):  # methods of the classic family return the parts of FM as separate fields
        names |= set(MULTIFIELDS)
    if entity is not None:
        names |= {entity.owner_field, entity.title_field}
        names |= {_CONTEXT_FIELDS[key] for name in names if (key := to_field_key(name, entity.name)) in _CONTEXT_FIELDS}
    if entity is not None and entity.name == PRODUCT_ROW:  # its card shows the whole row
        names |= {*(name for name in entity.fields if name not in {"ROWS", "PRODUCT_ROWS"}), *(entity.part_of or ())}
    if entity is not None and entity.name == call.entity == "activity":  # its card names the record on which it stands
        names |= {*(entity.part_of or ())}
    if call.spec.verb != "update":
        names |= set(_ALWAYS_SHOWN)
    if call.spec.verb == "delete":
        names |= set(_SHOWN_BEFORE_DELETE)
    kind = entity.name if entity is not None else call.entity
    keys = {to_field_key(name, kind) for name in names}
    return {key: value for key, value in record.items() if to_field_key(key, kind) in keys}
