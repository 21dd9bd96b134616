"""Draws the steps that follow when a card's call has created its record: «Затем: …».

A number that nobody can know stands for the new record, so what a text happens to hold is never taken for it.
"""

import logging
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from zoneinfo import ZoneInfo

from bitrix.errors import BitrixError
from orchestrator.domain.actor import Actor
from orchestrator.domain.card_view import Preview, PreviewLine
from orchestrator.domain.effect import STAND_IN, Effect, FollowingStep
from orchestrator.gate.call import reminders
from orchestrator.gate.call.effect import Call, Facts, Refuse
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.ports import Ledger
from orchestrator.gate.decide.signatures import load_sender, sign_texts
from orchestrator.gate.normalize.normalize import normalize
from orchestrator.gate.preview.preview import preview_for
from orchestrator.gate.preview.record_titles import find_new_title
from orchestrator.language.date_format import When, format_when
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import quote
from state.clock import parse_iso
from state.stored import JsonObject

log = logging.getLogger(__name__)

_WORDS: Final = load_lexicon("card_fields")
_WHEN: Final = _WORDS.read_titles("reminder_when")
_WHAT: Final = _WORDS.read_titles("reminder_text")
MOST: Final = 10
_LOWEST: Final = 100_000_000


@dataclass(frozen=True, kw_only=True)
class _Drawing:
    maker: Call
    number: int
    actor: Actor
    deps: GateDeps
    ledger: Ledger

    def name_record(self, text: str, title: str) -> str:
        return self._shown.sub(lambda _: title, text)

    def has_record(self, text: str) -> bool:
        return self._shown.search(text) is not None

    @property
    def _shown(self) -> re.Pattern[str]:
        digits = str(self.number)
        return re.compile(rf"(?:№\s?)?(?<!\d){digits[:3]}\D?{digits[3:6]}\D?{digits[6:]}(?!\d)")


def put_number(params: JsonObject, number: int) -> dict[str, Any]:
    """Puts the new record's number in place of its stand-in."""
    return {name: _put(value, number) for name, value in params.items()}


def _put(value: object, number: int) -> object:
    if isinstance(value, Mapping):
        return {key: _put(item, number) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_put(item, number) for item in value]
    if isinstance(value, str):
        kind, sign, rest = value.rpartition("_")
        return f"{kind}{sign}{number}" if rest == str(STAND_IN) else value
    return number if value == STAND_IN and not isinstance(value, bool) else value


async def draw_following(
    steps: Sequence[FollowingStep], maker: Call, actor: Actor, deps: GateDeps, ledger: Ledger
) -> list[tuple[FollowingStep, Preview]]:
    """With the title of the new record in place of its number."""
    if not steps:
        return []
    number = _LOWEST + secrets.randbelow(9 * _LOWEST)
    drawing = _Drawing(maker=maker, number=number, actor=actor, deps=deps, ledger=ledger)
    title = find_new_title(maker)
    drawn = [(step, await _draw(step, drawing)) for step in steps[:MOST]]
    quoted_title = quote(title, actor.locale) if title else ""
    return [(step, _name_record(preview, quoted_title, drawing)) for step, preview in drawn if preview is not None]


async def _draw(step: FollowingStep, drawing: _Drawing) -> Preview | None:
    deps, actor, ledger = drawing.deps, drawing.actor, drawing.ledger
    effect = Effect(method=step.method, params=put_number(step.params, drawing.number), slot=f"{drawing.maker.method}/following")
    performer = deps.performers.get(effect.kind)
    call = normalize(effect, catalogue=deps.catalogue, portal=performer.portal if performer else "", actor=actor, effect_id="following")
    if isinstance(call, Refuse):
        return Preview(verb="", entity="", method=step.method)
    if call.method == reminders.ADD:
        return Preview(verb="add", entity="reminder", method=step.method, lines=_list_reminder_lines(call, actor, ledger))
    sender = await load_sender(call, actor, deps)
    facts = Facts(records={(step.made, drawing.number): dict(drawing.maker.written_fields)}, sender=sender)
    call = sign_texts(call, facts, actor)
    try:
        return (await preview_for(actor, call, facts, deps.names, now=ledger.now)).model_copy(update={"method": step.method})
    except BitrixError:
        return Preview(verb="", entity="", method=step.method)
    except Exception:  # the card is shown without it, and the step itself is judged when the record is made
        log.exception("a following step cannot be drawn", extra={"action": "following_failed"})
        return None


def _list_reminder_lines(call: Call, actor: Actor, ledger: Ledger) -> list[PreviewLine]:
    at = parse_iso(str(call.params["at"])).astimezone(ZoneInfo(actor.time_zone))
    when = format_when(When(day=at.date(), at=at, has_time=True), now=ledger.now, locale=actor.locale)
    lines = (("at", _WHEN, when), ("text", _WHAT, escape_text(str(call.params.get("text", "")), locale=actor.locale)))
    return [PreviewLine(field=field, name=name[actor.locale], after=after) for field, name, after in lines if after]


def _name_record(preview: Preview, title: str, drawing: _Drawing) -> Preview:
    lines = [
        line.model_copy(update={"before": drawing.name_record(line.before, title), "after": drawing.name_record(line.after, title)})
        for line in preview.lines
    ]
    preview_lines = [line for line in lines if line.after.strip()]
    preview_title = "" if drawing.has_record(preview.title) else preview.title
    return preview.model_copy(update={"lines": preview_lines, "title": preview_title, "url": "", "id": None, "record": ""})
