"""Whether an approved card's records are still as it shows them; changes by approved steps of its plan are no drift."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from bitrix.catalogue.catalogue import Catalogue, ListKind
from orchestrator.domain.actor import Actor
from orchestrator.domain.card_view import FORM, Preview
from orchestrator.domain.outputs import Notice
from orchestrator.gate.approve.duplicates import decode_row, is_command_done
from orchestrator.gate.approve.planned_steps import shows_other_totals
from orchestrator.gate.call import critical_fields, fields, held_parts, list_comparison, multifields, replaced_lists
from orchestrator.gate.call.effect import BeforeImage, Call, Facts
from orchestrator.gate.call.ports import Ledger, Names
from orchestrator.gate.call.replaced_lists import Rows, find_guests_place
from orchestrator.gate.call.row_writes import ListWrite, add_to_sum, apply_writes, writes_rows
from orchestrator.gate.call.serialization import StoredOrder
from orchestrator.gate.call.targets import PRODUCT_ROW, find_row_owner
from orchestrator.gate.normalize.merge_multifields import find_steps
from orchestrator.gate.preview.describe_drift import CHANGED, ChangedField
from orchestrator.gate.preview.preview import preview_for
from state.journal.store import EffectRow
from state.model.card import Card
from state.stored import JsonObject

_NAMES: Final[Mapping[ListKind, frozenset[str]]] = {
    "products": frozenset({"rows", "productrows"}),
    "contacts": frozenset({"items"}),
    "companies": frozenset({"items"}),
    "people": frozenset(),
}
"""In a before-image, by their keys; methods of both families may write one list."""
_FOLLOWING: Final[Mapping[ListKind, tuple[str, str]]] = {
    "contacts": ("CONTACT_ID", "CONTACT_IDS"),
    "companies": ("COMPANY_ID", "COMPANY_IDS"),
}


def select_list_values(writes: Sequence[ListWrite], old: JsonObject, now: JsonObject) -> dict[str, object]:
    """Of `now`, those that are the result of the writes."""
    list_values: dict[str, object] = {}
    for kind in dict.fromkeys(write.kind for write in writes):
        own = [write for write in writes if write.kind == kind]
        list_values.update(_select_of_kind(own, kind, old, now))
    return list_values


def _select_of_kind(writes: Sequence[ListWrite], kind: ListKind, old: JsonObject, now: JsonObject) -> Iterator[tuple[str, object]]:
    name = next((name for name in old if fields.to_field_key(name) in _NAMES[kind] and isinstance(now.get(name), list)), "")
    expected = apply_writes(writes, old.get(name) if name else None)
    if name and (expected is None or not list_comparison.is_same_list(expected, now[name], kind)):
        return
    if name:
        yield name, now[name]
    if kind == "products":
        yield from _select_sum(writes, expected, old, now)
    elif expected is not None:
        yield from _select_links(expected, kind, now)


def _select_sum(writes: Sequence[ListWrite], expected: Rows | None, old: JsonObject, now: JsonObject) -> Iterator[tuple[str, object]]:
    """The total of `expected`, or without it the old sum and the differences."""
    name = next((name for name in now if fields.to_field_key(name) == "opportunity" and name in old), "")
    total = replaced_lists.sum_rows(expected) if expected is not None else add_to_sum(writes, old.get(name))
    if name and total is not None and fields.parse_number(now[name]) == total:
        yield name, now[name]


def _select_links(expected: Rows, kind: ListKind, now: JsonObject) -> Iterator[tuple[str, object]]:
    primary, every = _FOLLOWING[kind]
    numbers = [str(replaced_lists.find_link(row, kind)) for row in expected]
    first = next((number for row, number in zip(expected, numbers, strict=True) if replaced_lists.is_primary(row)), "0")
    for name, value in now.items():
        key = fields.to_field_key(name)
        is_primary_link = key == fields.to_field_key(primary) and str(value or 0) == first
        if is_primary_link or (key == fields.to_field_key(every) and fields.parse_ids(value) == frozenset(numbers)):
            yield name, value


REDRAWN: Final = Notice(code="drawn-anew")
"""An earlier version drew the card, and the present one would draw another."""


@dataclass(frozen=True, kw_only=True)
class Drift:
    call: Call
    card_params: JsonObject
    card_image: BeforeImage
    """With what other approved steps of its plan wrote since."""
    image: BeforeImage

    @property
    def is_found(self) -> bool:
        """If so, the approval does not hold."""
        return self.image != self.card_image or dict(self.call.params) != self.card_params

    def list_changed_fields(self) -> Iterator[ChangedField]:
        """None for a record that was deleted or could not be read."""
        seen: set[tuple[str, str]] = set()
        for leaf in self.call.leaves:
            for kind, number in (*leaf.targets, *leaf.ties, *find_guests_place(leaf)):
                place = f"{kind}:{number}"
                old, now = self.card_image.get(place), self.image.get(place)
                if old is None or now is None:
                    continue
                part = replace(leaf, entity=kind)
                for name in sorted({*old, *now}):
                    if (place, name) not in seen and not critical_fields.is_same_field_value(part, name, now.get(name), old.get(name)):
                        seen.add((place, name))
                        yield ChangedField(call=part, name=name, old=old, now=now)


async def detect_drift(call: Call, image: BeforeImage, stored: StoredOrder, card: Card, catalogue: Catalogue, ledger: Ledger) -> Drift:
    """`image` is the present before-image."""
    card_image = await _accept_own_steps(stored.before, image, card, catalogue, ledger)
    return Drift(call=call, card_params=stored.call.params, card_image=card_image, image=image)


async def detect_redrawn_card(call: Call, facts: Facts, card: Card, *, actor: Actor, names: Names, now: datetime) -> Notice | None:
    """Where no before-image shows what the card drew: departments and the like, cards of earlier versions.

    And sums of products, which rest on the steps before this one: these may have been left out or run in another order.
    """
    is_of_now = (card.preview or {}).get("form") == FORM
    changes_rows = any(writes_rows(leaf) for leaf in call.leaves)
    holds_parts = any(held_parts.find_part(leaf, facts) for leaf in call.leaves)
    if is_of_now and not holds_parts and not changes_rows:
        return None
    drawn = await preview_for(actor, call, facts, names, now=now)
    if is_of_now and not holds_parts:
        return CHANGED if shows_other_totals(card, drawn) else None
    if Preview.model_validate(card.preview or {}).says_same(drawn):
        return None
    return CHANGED if is_of_now else REDRAWN


async def _accept_own_steps(on_card: BeforeImage, fresh: BeforeImage, entry: Card, catalogue: Catalogue, ledger: Ledger) -> BeforeImage:
    """With what other approved steps of the plan wrote, as far as the record has it now: later changes still count."""
    plan = _find_plan(entry)
    if not plan or on_card == fresh:
        return on_card
    image = {place: dict(record) if record is not None else None for place, record in on_card.items()}
    of_lists: dict[str, list[ListWrite]] = {}
    for leaf, row in await _list_own_writes(plan, catalogue, ledger):
        place = f"{leaf.targets[0][0]}:{leaf.targets[0][1]}"
        old, now = image.get(place), fresh.get(place)
        owner = find_row_owner(leaf.targets[0], row, catalogue) if row is not None else None
        if owner is not None:
            of_lists.setdefault(f"{owner[0]}:{owner[1]}", []).append(ListWrite(call=leaf, row=row))
        if leaf.spec.replaces:
            of_lists.setdefault(place, []).append(ListWrite(call=leaf))
        elif old is not None and now is not None:
            old.update(_select_written_values(leaf, old, now))
    for place, writes in of_lists.items():
        old, now = image.get(place), fresh.get(place)
        if old is not None and now is not None:
            old.update(select_list_values(writes, old, now))
    return image


async def _list_own_writes(plan: str, catalogue: Catalogue, ledger: Ledger) -> list[tuple[Call, JsonObject | None]]:
    cards = [card for card in ledger.state.cards.values() if _find_plan(card) == plan and card.status == "executed"]
    rows = [row for card in cards if (row := await ledger.find_effect(card.effect_id)) is not None]
    return [write for row in sorted(rows, key=lambda effect_row: effect_row.updated_at) for write in _list_done_updates(row, catalogue)]


def _find_plan(card: Card) -> str:
    """Such as "<turn>/<iteration>"; "" if the card's step belongs to no plan."""
    return card.slot.rpartition("/")[0] if card.turn_id and card.slot.startswith(f"{card.turn_id}/") else ""


def _list_done_updates(row: EffectRow, catalogue: Catalogue) -> Iterator[tuple[Call, JsonObject | None]]:
    call = decode_row(row, catalogue)
    before = StoredOrder.from_data(row.call).before if call is not None else {}
    for leaf in call.leaves if call is not None else ():
        is_row = bool(leaf.targets) and leaf.targets[0][0] == PRODUCT_ROW and leaf.spec.verb in {"update", "delete"}
        if leaf.targets and (is_row or leaf.spec.verb == "update" or leaf.spec.replaces) and is_command_done(row, leaf.key):
            yield leaf, before.get(f"{PRODUCT_ROW}:{leaf.targets[0][1]}") if is_row else None


def _select_written_values(leaf: Call, old: JsonObject, now: JsonObject) -> dict[str, object]:
    record = {**old, **now}
    new_values = leaf.written_fields
    matching_keys = {
        fields.to_field_key(leaf.spec.stands_for.get(name, name), leaf.entity)
        for name, value in new_values.items()
        if critical_fields.has_value(leaf, name, value, record)
    }
    parts = _holds_written_parts(leaf, old, now)
    return {
        key: value
        for key, value in now.items()
        if key in old and (parts if multifields.is_multifield(key) else fields.to_field_key(key, leaf.entity) in matching_keys)
    }


def _holds_written_parts(leaf: Call, old: JsonObject, now: JsonObject) -> bool:
    steps = [step for named in find_steps(leaf, old).values() for step in named]
    expected, seen = [
        sorted((element.kind, element.value) for element in elements)
        for elements in (multifields.apply_steps(steps, multifields.parse_elements(old)), multifields.parse_elements(now))
    ]
    return bool(steps) and expected == seen
