"""Whether a card that was approved still says what the press would do, and what a new one must say. Ring 2, pure.

A press counts for what the card showed: the values, how many taps, whether a second person, and why it asked. More than that is asked anew.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.gate import criticals
from orchestrator.gate.before import build_before_image
from orchestrator.gate.effects import Allow, Ask, Call, Facts, Verdict
from orchestrator.gate.reasons import refuse
from orchestrator.messages import Actor, Notice

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
    written = criticals.extract_written_fields(call)
    record = criticals.find_current_record(call, facts)
    held = bool(written) and all(criticals.has_value(call, name, value, record) for name, value in written.items())
    return refuse("gate-already-so", method=call.method) if held else verdict
