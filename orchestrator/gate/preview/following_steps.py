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
NEW_RECORD: Final = _WORDS.read_titles("unnamed_record")
MOST: Final = 10
_LOWEST: Final = 100_000_000


@dataclass(frozen=True, kw_only=True)
class StandIn:
    """Drawn with `number`, which nobody can know, and shown with `title`."""

    kind: str
    number: int
    title: str
    fields: JsonObject

    def put_title(self, text: str) -> str:
        return self._shown.sub(lambda _: self.title, text)

    def is_in(self, text: str) -> bool:
        return self._shown.search(text) is not None

    @property
    def _shown(self) -> re.Pattern[str]:
        digits = str(self.number)
        return re.compile(rf"(?:№\s?)?(?<!\d){digits[:3]}\D?{digits[3:6]}\D?{digits[6:]}(?!\d)")


@dataclass(frozen=True, kw_only=True)
class Drawing:
    maker: Call
    actor: Actor
    deps: GateDeps
    ledger: Ledger


def put_numbers(params: JsonObject, numbers: Mapping[int, int]) -> dict[str, Any]:
    """Puts the numbers of new records in place of their stand-ins."""
    return {name: _put(value, numbers) for name, value in params.items()}


def _put(value: object, numbers: Mapping[int, int]) -> object:
    if isinstance(value, Mapping):
        return {key: _put(item, numbers) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_put(item, numbers) for item in value]
    if isinstance(value, str):
        kind, sign, rest = value.rpartition("_")
        return next((f"{kind}{sign}{number}" for stand_in, number in numbers.items() if rest == str(stand_in)), value)
    return numbers.get(value, value) if isinstance(value, int) and not isinstance(value, bool) else value


async def draw_following(
    steps: Sequence[FollowingStep], maker: Call, actor: Actor, deps: GateDeps, ledger: Ledger
) -> list[tuple[FollowingStep, Preview]]:
    """With the titles of new records in place of their numbers."""
    drawing = Drawing(maker=maker, actor=actor, deps=deps, ledger=ledger)
    drawn = [(step, await _draw(step, drawing)) for step in steps[:MOST]]
    return [(step, preview) for step, preview in drawn if preview is not None]


def _list_records(step: FollowingStep, drawing: Drawing) -> dict[int, StandIn]:
    """By their stand-ins."""
    makers: dict[int, tuple[str, Call | None]] = {STAND_IN: (step.made, drawing.maker)}
    for record in step.beside:
        maker = _normalize(Effect(method=record.method, params=record.params, slot="maker"), drawing)
        makers[record.stand_in] = record.kind, None if isinstance(maker, Refuse) else maker
    numbers = secrets.SystemRandom().sample(range(_LOWEST, 10 * _LOWEST), len(makers))
    titles = [find_new_title(maker) if maker is not None else "" for _, maker in makers.values()]
    return {
        stand_in: StandIn(
            kind=kind,
            number=number,
            title=quote(title, drawing.actor.locale) if title else NEW_RECORD[drawing.actor.locale],
            fields=dict(maker.written_fields) if maker is not None else {},
        )
        for (stand_in, (kind, maker)), number, title in zip(makers.items(), numbers, titles, strict=True)
    }


def _normalize(effect: Effect, drawing: Drawing) -> Call | Refuse:
    deps, performer = drawing.deps, drawing.deps.performers.get(effect.kind)
    portal = performer.portal if performer else ""
    return normalize(effect, catalogue=deps.catalogue, portal=portal, actor=drawing.actor, effect_id="following")


async def _draw(step: FollowingStep, drawing: Drawing) -> Preview | None:
    records = _list_records(step, drawing)
    preview = await draw_step(step, records, drawing)
    return name_records(preview, tuple(records.values())) if preview is not None else None


async def draw_step(step: FollowingStep, records: Mapping[int, StandIn], drawing: Drawing) -> Preview | None:
    deps, actor, ledger = drawing.deps, drawing.actor, drawing.ledger
    params = put_numbers(step.params, {stand_in: record.number for stand_in, record in records.items()})
    call = _normalize(Effect(method=step.method, params=params, slot=f"{drawing.maker.method}/following"), drawing)
    if isinstance(call, Refuse):
        return Preview(verb="", entity="", method=step.method)
    if call.method == reminders.ADD:
        return Preview(verb="add", entity="reminder", method=step.method, lines=_list_reminder_lines(call, actor, ledger))
    sender = await load_sender(call, actor, deps)
    facts = Facts(records={(record.kind, record.number): record.fields for record in records.values()}, sender=sender)
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


def name_records(preview: Preview, records: Sequence[StandIn]) -> Preview:
    pairs = [(line, {"before": _put_titles(line.before, records), "after": _put_titles(line.after, records)}) for line in preview.lines]
    lines = [line.model_copy(update=texts) for line, texts in pairs]
    preview_lines = [line for line in lines if line.after.strip()]
    preview_title = "" if any(record.is_in(preview.title) for record in records) else preview.title
    return preview.model_copy(update={"lines": preview_lines, "title": preview_title, "url": "", "id": None, "record": ""})


def _put_titles(text: str, records: Sequence[StandIn]) -> str:
    for record in records:
        text = record.put_title(text)
    return text
