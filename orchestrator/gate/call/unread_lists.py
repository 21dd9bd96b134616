"""What reading methods leave out of a record although a card needs it. Pure."""

from collections.abc import Iterator, Mapping
from typing import Final

from orchestrator.gate.call import fields
from orchestrator.gate.call.effect import Call, Target
from orchestrator.gate.call.replaced_lists import find_list, find_row_value, sets_sum
from orchestrator.gate.call.targets import as_id
from state.stored import JsonObject

_GUESTS: Final = "guests"
_IS_MEETING: Final = "is_meeting"
"""Given without guests, it removes them all."""
LINK_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "contactids": frozenset({"lead", "deal", "company"}),
    "companyids": frozenset({"contact"}),
    "observers": frozenset({"lead", "deal", "contact", "company"}),
    "observerids": frozenset({"lead", "deal", "contact", "company"}),
}
"""Left out by the classic reading methods, and the kinds of records that have them."""

OWNER_TITLE: Final = "OWNER_TITLE"
OWNER_SUM: Final = "OWNER_SUM"


def add_owner(row: JsonObject, owner: JsonObject | None) -> JsonObject:
    owner_record = owner or {}
    owner_fields = {OWNER_TITLE: fields.find_value(owner_record, "TITLE"), "CURRENCY_ID": fields.find_value(owner_record, "CURRENCY_ID")}
    return {**row, **owner_fields, **({OWNER_SUM: fields.find_value(owner_record, "OPPORTUNITY")} if sets_sum(owner) else {})}


def find_guests_place(call: Call) -> tuple[Target, ...]:
    """Gives (("guests", event id),) if `call` replaces the guests of an event."""
    name_and_kind = find_list(call)
    if name_and_kind is None or name_and_kind[1] != "people" or find_written_guests(call) is None:
        return ()
    number = as_id(call.params.get("id"))
    return ((_GUESTS, number),) if number is not None else ()


def find_written_guests(call: Call) -> object:
    """None if the call leaves them as they are."""
    name = next(iter(call.spec.replaces), "")
    clears = call.params.get(_IS_MEETING) in ("Y", "1", 1, True)
    return call.params.get(name, [] if clears else None)


def to_guests(record: JsonObject) -> list[str] | None:
    """The portal gives U7 for 7; None if its answer names no guests."""
    codes = find_row_value(record, "attendeescodes")
    if not isinstance(codes, list):
        return None
    return [str(code).removeprefix("U") if as_id(str(code).removeprefix("U")) else str(code) for code in codes]


def list_missing_fields(call: Call, records: Mapping[Target, JsonObject | None]) -> Iterator[tuple[Target, str]]:
    for leaf in call.leaves:
        place = leaf.params.get(leaf.spec.fields_at) if leaf.spec.fields_at else None
        if leaf.reads_only or leaf.spec.verb != "update" or not isinstance(place, Mapping):
            continue
        for target in leaf.targets[:1]:
            record = records.get(target)
            for name in place if record is not None else ():
                key = fields.to_field_key(name, target[0])
                if key in LINK_FIELDS and target[0] in LINK_FIELDS[key] and not fields.has_field(record or {}, name, target[0]):
                    yield target, name
