"""Checks that an approved card still describes what its call would do, and builds before-images. Pure.

An approval covers what the card showed: the values, the number of button clicks, whether a second person must approve, and the reasons. If
anything is added to these, a new card asks again.

A before-image (the records before the change) holds only the fields that the call changes, the owner and the title. With more fields, an
unrelated edit would cause a second card, and the journal would collect customers' texts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bitrix.catalogue.catalogue import Entity
from bitrix.catalogue.names import MULTIFIELDS
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import critical_fields
from orchestrator.gate.call.effect import Allow, Ask, BeforeImage, Call, Facts, Verdict
from orchestrator.gate.call.fields import to_field_key
from orchestrator.gate.call.reasons import refuse
from orchestrator.gate.call.serialization import StoredOrder
from orchestrator.gate.call.targets import PRODUCT_ROW
from orchestrator.gate.call.unread_lists import find_guests_place
from state.model.card import Card
from state.stored import JsonObject

CHANGED = Notice(code="changed-meanwhile")
STRICTER = Notice(code="stricter-meanwhile")
REDRAWN = Notice(code="drawn-anew")
"""An earlier version of this program drew the card, and the present one would draw another."""


@dataclass(frozen=True, kw_only=True)
class ReplacementCard:
    """A card to show instead of the approved one: the same call, checked against the present records and rules."""

    call: Call
    facts: Facts
    actor: Actor
    ask: Ask

    @property
    def reason(self) -> Notice:
        """The main reason for the new card, told to the person who approved the old one."""
        return self.ask.reasons[0]

    def with_reason(self, reason: Notice) -> "ReplacementCard":
        """Return a copy of this card in which `reason` replaces the first reason.

        The new reason says the same in more detail.
        """
        return replace(self, ask=replace(self.ask, reasons=(reason, *self.ask.reasons[1:])))


def revalidate(  # noqa: PLR0913 - both sides of the comparison, and what a new card is built from
    call: Call,
    *,
    facts: Facts,
    before: BeforeImage,
    actor: Actor,
    stored: StoredOrder,
    entry: Card,
    verdict: Allow | Ask,
    fell: Sequence[Notice] = (),
) -> ReplacementCard | None:
    """Return a new card to show instead of `entry`, or None if `entry` still describes exactly what the call would do.

    `before` is the present before-image, `stored` holds the call as the card showed it. `fell` holds notices about parts of the call that
    were dropped because nothing is left to change.
    """
    changed = before != stored.before or dict(call.params) != stored.call.params
    fresh = verdict if isinstance(verdict, Ask) else Ask(reasons=())
    if not changed and not _is_stricter(entry, fresh):
        return None
    why = CHANGED if changed else STRICTER
    return ReplacementCard(
        call=call,
        facts=facts,
        actor=actor,
        ask=Ask(reasons=(why, *fell, *fresh.reasons), taps=fresh.taps, four_eyes=fresh.four_eyes, lead=fresh.lead),
    )


def _is_stricter(entry: Card, fresh: Ask) -> bool:
    known = {_build_reason_key(reason["code"], reason.get("args") or {}) for reason in entry.reasons}
    more_hands = fresh.taps > entry.taps or (fresh.four_eyes and not entry.four_eyes) or (fresh.lead and not entry.lead)
    return more_hands or not {_build_reason_key(reason.code, reason.args) for reason in fresh.reasons} <= known


def _build_reason_key(code: str, args: JsonObject) -> tuple[str, ...]:
    """Return a key that is equal for two reasons that count as the same.

    It consists of the code, the command of a batch, and the field or record. Amounts are not part of it.
    """
    return (code, *[str(args.get(name, "")) for name in ("reason", "key", "field", "entity", "id", "why")])


def refuse_unchanged(verdict: Verdict, call: Call, facts: Facts) -> Verdict:
    """Return `verdict`, or a refusal if the call is an update to values that the record has already.

    The refusal tells the person so, and nothing is sent. A batch is never refused here: a command that changes nothing does no harm in it.
    """
    if not isinstance(verdict, Allow | Ask) or call.kind != "bitrix" or call.spec.verb != "update":
        return verdict
    if isinstance(verdict, Ask) and any(reason.code == "same-call-unknown" for reason in verdict.reasons):
        return verdict  # the person must hear about the first call, whose outcome is unknown
    written = call.written_fields
    record = critical_fields.find_current_record(call, facts)
    held = bool(written) and all(critical_fields.has_value(call, name, value, record) for name, value in written.items())
    return refuse("gate-already-so", method=call.method) if held else verdict


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
"""What a person wants to see of a record before it is deleted for good, besides its title and owner."""
_MANUAL_SUM = "IS_MANUAL_OPPORTUNITY"
"""Says whether the sum stays as it is when the product rows change."""
_CONTEXT_FIELDS = {"opportunity": "CURRENCY_ID", "stageid": "CATEGORY_ID", "categoryid": "STAGE_ID"}
"""The field that gives a value its meaning: a sum needs its currency, a stage its funnel."""


def build_before_image(call: Call, facts: Facts) -> dict[str, JsonObject | None]:
    """Return the before-image: for each record, such as "deal:481", the fields that the call changes, its owner and its title.

    The value is None for a record that does not exist or was not read.
    """
    if call.kind != "bitrix":
        return dict(facts.images)
    image: dict[str, JsonObject | None] = {}
    for part in call.commands or (call,):
        for target in (*part.targets, *find_guests_place(part)):
            name = f"{target[0]}:{target[1]}"
            shown = _select_shown_fields(part, facts.records.get(target), part.entities.get(target[0]))
            image[name] = shown if shown is None else {**(image.get(name) or {}), **shown}
        for tie in part.ties:
            name = f"{tie[0]}:{tie[1]}"
            image[name] = image.get(name) or _select_owner_fields(facts.records.get(tie), part.entities.get(tie[0]))
    return image


def find_context_field(name: str, entity: str) -> str:
    """Return the field that is needed to interpret the field `name`, such as the currency for a sum; "" for most fields."""
    return _CONTEXT_FIELDS.get(to_field_key(name, entity), "")


def _select_owner_fields(record: JsonObject | None, entity: Entity | None) -> dict[str, object] | None:
    """Return the title and owner fields of a record to which the call attaches something; None if the record was not read.

    They belong to the before-image so that the approver's rights are checked for this record too.
    """
    if record is None or entity is None:
        return None
    keys = {to_field_key(name, entity.name) for name in (entity.owner_field, *entity.also_owned_by, entity.title_field)}
    return {key: value for key, value in record.items() if to_field_key(key, entity.name) in keys}


def _select_shown_fields(call: Call, record: JsonObject | None, entity: Entity | None) -> dict[str, object] | None:
    if record is None:
        return None
    touched = call.params.get(call.spec.fields_at) if call.spec.fields_at else call.params
    wanted = set(touched) if isinstance(touched, Mapping) else set()
    wanted |= {*call.spec.replaces, *((_MANUAL_SUM,) if "products" in call.spec.replaces.values() else ())}
    wanted |= {call.spec.stands_for.get(name, name) for name in wanted}
    if any(name.upper() == "FM" for name in wanted):  # methods of the classic family return the parts of FM as separate fields
        wanted |= set(MULTIFIELDS)
    if entity is not None:
        wanted |= {entity.owner_field, entity.title_field}
        wanted |= {_CONTEXT_FIELDS[key] for name in wanted if (key := to_field_key(name, entity.name)) in _CONTEXT_FIELDS}
    if entity is not None and entity.name == PRODUCT_ROW:  # its card shows the whole row
        wanted |= {*(name for name in entity.fields if name not in {"ROWS", "PRODUCT_ROWS"}), *(entity.part_of or ())}
    if call.spec.verb != "update":
        wanted |= set(_ALWAYS_SHOWN)
    if call.spec.verb == "delete":
        wanted |= set(_SHOWN_BEFORE_DELETE)
    kind = entity.name if entity is not None else call.entity
    keys = {to_field_key(name, kind) for name in wanted}
    return {key: value for key, value in record.items() if to_field_key(key, kind) in keys}
