"""Draws the steps that follow when the call of a card has created its record, so that the card shows them: «Затем: …».

When the record is made, each of them is submitted to the gate like any other step; `covered_steps` says when it needs no card then.
"""

import logging
import re
from collections.abc import Sequence
from typing import Final
from zoneinfo import ZoneInfo

from bitrix.errors import BitrixError
from orchestrator.domain.actor import Actor
from orchestrator.domain.card_view import Preview, PreviewLine
from orchestrator.domain.effect import STAND_IN, Effect, FollowingStep
from orchestrator.gate.approve.preview import preview_for
from orchestrator.gate.approve.record_titles import find_new_title
from orchestrator.gate.call import critical_fields, reminders
from orchestrator.gate.call.effect import Call, Facts, Refuse
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.ports import Ledger
from orchestrator.gate.normalize.normalize import normalize
from orchestrator.language.date_format import When, format_when
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import quote
from state.clock import parse_iso

log = logging.getLogger(__name__)

_SHOWN: Final = re.compile(r"(?:№\s?)?999\D?999\D?937")
_WORDS: Final = load_lexicon("card_fields")
_WHEN: Final = _WORDS.read_titles("reminder_when")
_WHAT: Final = _WORDS.read_titles("reminder_text")
MOST: Final = 10
"""How many following steps a card shows at most."""


async def draw_following(
    steps: Sequence[FollowingStep], maker: Call, actor: Actor, deps: GateDeps, ledger: Ledger
) -> list[tuple[FollowingStep, Preview]]:
    """Return the steps that follow on the call `maker`, each with its preview, with the title of the new record in place of its number."""
    title = find_new_title(maker)
    drawn = [(step, await _draw(step, maker, actor, deps, ledger)) for step in steps[:MOST]]
    return [(step, _name_record(preview, quote(title, actor.locale) if title else "")) for step, preview in drawn if preview is not None]


async def _draw(step: FollowingStep, maker: Call, actor: Actor, deps: GateDeps, ledger: Ledger) -> Preview | None:
    """Return the preview of a step; None if it cannot be drawn, for example because the gate would refuse it."""
    effect = Effect(method=step.method, params=step.params, slot=f"{maker.method}/following")
    performer = deps.performers.get(effect.kind)
    call = normalize(effect, catalogue=deps.catalogue, portal=performer.portal if performer else "", actor=actor, effect_id="following")
    if isinstance(call, Refuse):
        return Preview(verb="", entity="", method=step.method)
    if call.method == reminders.ADD:
        return Preview(verb="add", entity="reminder", method=step.method, lines=_list_reminder_lines(call, actor, ledger))
    facts = Facts(records={(step.made, STAND_IN): dict(critical_fields.extract_written_fields(maker))})
    try:
        return (await preview_for(actor, call, facts, deps.names, now=ledger.now)).model_copy(update={"method": step.method})
    except BitrixError:
        return Preview(verb="", entity="", method=step.method)
    except Exception:  # the card is shown without it, and the step itself is judged when the record is made
        log.exception("a following step cannot be drawn", extra={"action": "following_failed"})
        return None


def _list_reminder_lines(call: Call, actor: Actor, ledger: Ledger) -> list[PreviewLine]:
    """Return when the person will be reminded, in their zone, and of what; a reminder has no card of its own."""
    at = parse_iso(str(call.params["at"])).astimezone(ZoneInfo(actor.time_zone))
    when = format_when(When(day=at.date(), at=at, has_time=True), now=ledger.now, locale=actor.locale)
    lines = (("at", _WHEN, when), ("text", _WHAT, escape_text(str(call.params.get("text", "")), locale=actor.locale)))
    return [PreviewLine(field=field, name=name[actor.locale], after=after) for field, name, after in lines if after]


def _name_record(preview: Preview, title: str) -> Preview:
    """Return the preview with the record's title in place of the stand-in, and without an address of a page that does not exist."""
    lines = [
        line.model_copy(update={"before": _SHOWN.sub(title, line.before), "after": _SHOWN.sub(title, line.after)}) for line in preview.lines
    ]
    shown = [line for line in lines if line.after.strip()]
    named = "" if _SHOWN.search(preview.title) else preview.title
    return preview.model_copy(update={"lines": shown, "title": named, "url": "", "id": None, "record": ""})
