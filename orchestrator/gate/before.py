"""The before-image: what of each record the card shows and the consent is bound to. Pure.

Only what the call touches, plus whose it is and what it is called: an unrelated edit must not cost the person a second card, and
the journal must not hoard customers' texts.
"""

from collections.abc import Mapping
from typing import Any

from bitrix.catalogue import Entity
from bitrix.names import MULTIFIELDS
from orchestrator.gate.effects import Call, Facts
from orchestrator.gate.fields import to_field_key

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
)
"""What a person wants to see of a record before it is gone for good, besides its title and whose it is."""
_CONTEXT_FIELDS = {"opportunity": "CURRENCY_ID", "stageid": "CATEGORY_ID", "categoryid": "STAGE_ID"}
"""What gives a value its meaning: a sum is one of its currency, a stage one of its funnel."""


def build_before_image(call: Call, facts: Facts) -> dict[str, Any]:
    """ "deal:481" → the shown part of the record, None where it does not exist."""
    image: dict[str, Any] = {}
    for part in call.commands or (call,):
        for target in part.targets:
            name = f"{target[0]}:{target[1]}"
            shown = _select_shown_fields(part, facts.records.get(target), part.entities.get(target[0]))
            image[name] = shown if shown is None else {**(image.get(name) or {}), **shown}
        for tie in part.ties:
            name = f"{tie[0]}:{tie[1]}"
            image[name] = image.get(name) or _select_owner_fields(facts.records.get(tie), part.entities.get(tie[0]))
    return image


def find_context_field(name: str, entity: str) -> str:
    """The field that gives the value of this one its meaning, "" for most."""
    return _CONTEXT_FIELDS.get(to_field_key(name, entity), "")


def _select_owner_fields(record: Mapping[str, Any] | None, entity: Entity | None) -> dict[str, Any] | None:
    """Of a record that something is hung on: what it is called and whose it is, so that who approves is checked against it too."""
    if record is None or entity is None:
        return None
    keys = {to_field_key(name, entity.name) for name in (entity.owner_field, *entity.also_owned_by, entity.title_field)}
    return {key: value for key, value in record.items() if to_field_key(key, entity.name) in keys}


def _select_shown_fields(call: Call, record: Mapping[str, Any] | None, entity: Entity | None) -> dict[str, Any] | None:
    if record is None:
        return None
    touched = call.params.get(call.spec.fields_at) if call.spec.fields_at else call.params
    wanted = set(touched) if isinstance(touched, Mapping) else set()
    wanted |= {call.spec.stands_for.get(name, name) for name in wanted}
    if any(name.upper() == "FM" for name in wanted):  # the classic family shows these under names of their own
        wanted |= set(MULTIFIELDS)
    if entity is not None:
        wanted |= {entity.owner_field, entity.title_field}
        wanted |= {_CONTEXT_FIELDS[key] for name in wanted if (key := to_field_key(name, entity.name)) in _CONTEXT_FIELDS}
    if call.spec.verb != "update":
        wanted |= set(_ALWAYS_SHOWN)
    if call.spec.verb == "delete":
        wanted |= set(_SHOWN_BEFORE_DELETE)
    kind = entity.name if entity is not None else call.entity
    keys = {to_field_key(name, kind) for name in wanted}
    return {key: value for key, value in record.items() if to_field_key(key, kind) in keys}
