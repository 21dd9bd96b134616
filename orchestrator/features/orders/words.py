"""Puts standing orders in words for a person. Pure."""

from collections.abc import Sequence
from datetime import datetime
from functools import reduce
from typing import Final
from zoneinfo import ZoneInfo

from orchestrator.domain.actor import Actor
from orchestrator.domain.cron_lines import CronLine
from orchestrator.domain.outputs import Action, Notice
from orchestrator.domain.standing_orders import OrderTerms
from orchestrator.language.date_format import When, format_day_of, format_when
from orchestrator.language.schedule_terms import describe_line
from state.clock import parse_iso
from state.model.order_state import StandingOrder
from state.stored import JsonObject

BUTTON: Final = "order"
"""The first word of the buttons of orders: ("order", id of the order, deed)."""
NONE: Final = "none"
"""For an argument of a sentence that is left out."""
LONGEST: Final = 120
_LABELS: Final = {"pause": "order-pause-one", "resume": "order-resume-one", "remove": "order-remove-one"}


def format_moment(moment: str | datetime, actor: Actor, now: datetime) -> str:
    at = (parse_iso(moment) if isinstance(moment, str) else moment).astimezone(ZoneInfo(actor.time_zone))
    return format_when(When(at.date(), at, has_time=True), now=now, locale=actor.locale)


def format_end(entry: StandingOrder, actor: Actor, now: datetime) -> str:
    return format_day_of(parse_iso(entry.until), actor.time_zone, now=now, locale=actor.locale)


def describe_when(terms: OrderTerms, words: JsonObject, actor: Actor, now: datetime) -> Notice:
    records = str(words.get("records") or "")[:LONGEST]
    match terms.kind:
        case "change":
            names = [Notice(code="order-field", args={"field": name, "of": terms.counted}) for name in terms.changes]
            args = {"fields": join_words(names), "records": records, "condition": terms.condition or NONE}
            return Notice(code="order-when-changes", args=args)
        case "quiet":
            return Notice(code="order-when-quiet", args={"days": terms.quiet, "records": records})
        case "time":
            if not terms.cron:
                return Notice(code="schedule-once", args={"moment": format_moment(terms.at, actor, now)})
            line = describe_line(CronLine(terms.cron), terms.zone, reader_zone=actor.time_zone)
            return line if line is not None else Notice(code="schedule-word", args={"text": terms.cron})


def describe_deed(terms: OrderTerms, words: JsonObject) -> Notice:
    if terms.report:
        return Notice(code="order-do-report", args={"title": str(words.get("report") or "")[:LONGEST]})
    if terms.propose:
        return Notice(code="order-do-propose", args={"method": str(words.get("propose") or "")[:LONGEST]})
    if terms.text:
        return Notice(code="order-do-text", args={"text": terms.text[:LONGEST], "to": "owner" if "owner" in terms.to else "me"})
    return Notice(code="order-do-tell", args={"to": "both" if len(terms.to) > 1 else terms.to[0]})


def join_words(words: Sequence[Notice]) -> dict[str, object]:
    first, *rest = [word.model_dump() for word in words]
    return reduce(lambda joined, other: Notice(code="schedule-comma", args={"first": joined, "then": other}).model_dump(), rest, first)


def describe_order(entry: StandingOrder, actor: Actor, now: datetime, *, number: int) -> Notice:
    terms = OrderTerms.model_validate(entry.terms)
    args = {
        "number": number,
        "when": describe_when(terms, entry.words, actor, now).model_dump(),
        "what": describe_deed(terms, entry.words).model_dump(),
        "until": format_end(entry, actor, now),
        "state": describe_state(entry, actor, now).model_dump(),
        "fired": entry.fired,
    }
    return Notice(code="order-line", args=args)


def describe_state(entry: StandingOrder, actor: Actor, now: datetime) -> Notice:
    if entry.status == "paused":
        return Notice(code="order-paused", args={"why": describe_reason(entry.why, entry.detail).model_dump()})
    if entry.due:
        return Notice(code="order-next", args={"moment": format_moment(entry.due, actor, now)})
    return Notice(code="schedule-word", args={"text": ""})


def describe_reason(why: str, detail: str = "") -> Notice:
    return Notice(code="order-why", args={"why": why, "detail": detail[:LONGEST] or NONE})


def build_event_notice(code: str, entry: StandingOrder, actor: Actor, now: datetime, **args: object) -> Notice:
    """A sentence about one order, which it names by its own words."""
    terms = OrderTerms.model_validate(entry.terms)
    when = describe_when(terms, entry.words, actor, now).model_dump()
    what = describe_deed(terms, entry.words).model_dump()
    return Notice(code=code, args={"when": when, "what": what, "until": format_end(entry, actor, now), **args})


def build_button(order: str, deed: str, number: int = 0) -> Action:
    """`number` is that of its line, 0 for the only one."""
    label = Notice(code=_LABELS[deed], args={"number": number})
    return Action(words=(BUTTON, order, deed), label=label)
