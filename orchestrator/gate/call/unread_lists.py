"""Finds what the portal's reading methods leave out of a record, although it is needed to show what a call changes. Pure.

That is the guests of a calendar event, lists of linked records and observers, and the title, currency and sum of the record to which a
single product row belongs.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from orchestrator.gate.call import fields
from orchestrator.gate.call.effect import Call, Target
from orchestrator.gate.call.replaced_lists import find_list, find_row_value, sets_sum
from orchestrator.gate.call.targets import as_id
from state.stored import JsonObject

_GUESTS: Final = "guests"
_IS_MEETING: Final = "is_meeting"
"""The parameter of a calendar event by which it has guests; given without guests it removes them all."""
LINK_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "contactids": frozenset({"lead", "deal", "company"}),
    "companyids": frozenset({"contact"}),
    "observers": frozenset({"lead", "deal", "contact", "company"}),
    "observerids": frozenset({"lead", "deal", "contact", "company"}),
}
"""Fields with lists that the classic reading methods (crm.deal.get and so on) leave out, and the kinds of records that have them."""

OWNER_TITLE: Final = "OWNER_TITLE"
OWNER_SUM: Final = "OWNER_SUM"
"""The names under which a single product row holds the title and the sum of the record that it belongs to."""


def add_owner(row: JsonObject, owner: JsonObject | None) -> JsonObject:
    """Return a product row with title, currency and, where the portal computes it from rows, the sum of the record it belongs to."""
    found = owner or {}
    told = {OWNER_TITLE: fields.find_value(found, "TITLE"), "CURRENCY_ID": fields.find_value(found, "CURRENCY_ID")}
    return {**row, **told, **({OWNER_SUM: fields.find_value(found, "OPPORTUNITY")} if sets_sum(owner) else {})}


def find_guests_place(call: Call) -> tuple[Target, ...]:
    """Return (("guests", event id),), under which the present guests are read, if `call` replaces those of an event; otherwise ()."""
    found = find_list(call)
    if found is None or found[1] != "people" or find_written_guests(call) is None:
        return ()
    number = as_id(call.params.get("id"))
    return ((_GUESTS, number),) if number is not None else ()


def find_written_guests(call: Call) -> object:
    """Return the guests that `call` gives a calendar event; None if it leaves them as they are."""
    name = next(iter(call.spec.replaces), "")
    clears = call.params.get(_IS_MEETING) in ("Y", "1", 1, True)
    return call.params.get(name, [] if clears else None)


def to_guests(record: JsonObject) -> list[str] | None:
    """Return the ids of the guests of a calendar event, which the portal gives as U7; None if its answer does not name them."""
    codes = find_row_value(record, "attendeescodes")
    if not isinstance(codes, list):
        return None
    return [str(code).removeprefix("U") if as_id(str(code).removeprefix("U")) else str(code) for code in codes]


def list_missing_fields(call: Call, records: Mapping[Target, JsonObject | None]) -> Iterator[tuple[Target, str]]:
    """Yield (record, field name) for each list, such as observers, that the call writes and that the read of the record left out."""
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
