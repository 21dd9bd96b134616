"""Whether a card that was approved still says what the press would do, and what a new one must say. Ring 2, pure.

A press counts for what the card showed: the values, how many taps, whether a second person, and why it asked. More than that is asked anew.

The before-image: what of each record the card shows and the consent is bound to. Pure.

Only what the call touches, plus whose it is and what it is called: an unrelated edit must not cost the person a second card, and
the journal must not hoard customers' texts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bitrix.catalogue.catalogue import Entity
from bitrix.catalogue.names import MULTIFIELDS
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import critical_fields
from orchestrator.gate.call.effect import Allow, Ask, Call, Facts, Verdict
from orchestrator.gate.call.fields import to_field_key
from orchestrator.gate.call.reasons import refuse

CHANGED = Notice(code="changed-meanwhile")
STRICTER = Notice(code="stricter-meanwhile")


@dataclass(frozen=True, kw_only=True)
class ReplacementCard:
    """A card to show instead of the approved one: the same call, as the world is now."""

    call: Call
    facts: Facts
    actor: Actor
    ask: Ask

    @property
    def reason(self) -> Notice:
        """What is said to who pressed."""
        return self.ask.reasons[0]


def revalidate(
    call: Call,
    *,
    facts: Facts,
    actor: Actor,
    stored: Mapping[str, Any],
    entry: Mapping[str, Any],
    verdict: Allow | Ask,
    fell: Sequence[Notice] = (),
) -> ReplacementCard | None:
    """The new card, or None when `entry` with what is `stored` of it still says everything (DESIGN §3 "Preview", "Four eyes").

    `fell` tells what of the call the world left nothing to do for.
    """
    changed = build_before_image(call, facts) != stored["before"] or dict(call.params) != stored["call"]["params"]
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


def _is_stricter(entry: Mapping[str, Any], fresh: Ask) -> bool:
    known = {_build_reason_key(reason["code"], reason["args"]) for reason in entry["reasons"]}
    more_hands = fresh.taps > entry["taps"] or (fresh.four_eyes and not entry.get("four_eyes")) or (fresh.lead and not entry.get("lead"))
    return more_hands or not {_build_reason_key(reason.code, reason.args) for reason in fresh.reasons} <= known


def _build_reason_key(code: str, args: Mapping[str, Any]) -> tuple[str, ...]:
    """What makes a reason another one: its code, the command, and the field or record it is about, but no amounts."""
    return (code, *(str(args.get(name, "")) for name in ("reason", "key", "field", "entity", "id", "why")))


def refuse_unchanged(verdict: Verdict, call: Call, facts: Facts) -> Verdict:
    """`verdict`, or the refusal of an update whose values the record holds already: it is reported and not sent (DESIGN §3 "Read back").

    In a batch such a command does no harm to the others and goes with them.
    """
    if not isinstance(verdict, Allow | Ask) or call.kind != "bitrix" or call.spec.verb != "update":
        return verdict
    if isinstance(verdict, Ask) and any(reason.code == "same-call-unknown" for reason in verdict.reasons):
        return verdict  # the person is told of the first one, whose outcome nobody knows
    written = critical_fields.extract_written_fields(call)
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
