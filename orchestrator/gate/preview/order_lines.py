"""The card of a standing order: when, about what, what then, to whom, with whose rights, until when, and what last week would have been."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from orchestrator.domain.card_view import PreviewLine
from orchestrator.domain.standing_orders import NEW, OrderTerms
from orchestrator.gate.call import standing_orders as orders
from orchestrator.gate.call.before_image import PASSING
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.preview.format_values import Reader
from orchestrator.language.date_format import When, format_day_of, format_when
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.schedule_terms import parse_terms
from orchestrator.language.text import Locale
from state.clock import parse_iso
from state.stored import JsonObject

LIFETIME: Final = timedelta(days=365)
_LEXICON: Final = load_lexicon("standing_orders")
_READERS: Final[Mapping[tuple[str, ...], str]] = {("me",): "to_me", ("owner",): "to_owner"}
_WEEKS: Final = {"time": "week_time", "change": "week_change", "quiet": "week_quiet"}


def name_order(call: Call, facts: Facts, _reader: Reader) -> str:
    """By what it is about; nothing for a new one, whose lines say it all."""
    if call.method in {orders.ADD, orders.LIST}:
        return ""
    image = _find_image(facts)
    terms = image.get("terms") or {}
    return str(image.get("records") or image.get("report") or terms.get("text") or "")


def build_order_lines(call: Call, facts: Facts, reader: Reader) -> list[PreviewLine]:
    if call.method == orders.ADD:
        week = facts.images.get(PASSING) or {}
        return list(_list_new_lines(orders.to_terms(call.params), _find_image(facts), week, _Writer(reader)))
    if call.method == orders.CHANGE:
        return list(_list_changed_lines(call.params, _find_image(facts).get("terms") or {}, _Writer(reader)))
    return []


def _find_image(facts: Facts) -> JsonObject:
    return facts.images.get("order") or {}


class _Writer:
    def __init__(self, reader: Reader) -> None:
        self._reader, self._locale = reader, reader.locale

    def format_words(self, name: str, **args: object) -> str:
        return _LEXICON.read_titles(name)[self._locale].format(**args)

    def build_line(self, name: str, after: str, before: str = "") -> PreviewLine:
        return PreviewLine(field=name, name=self.format_words(name), after=self._escape(after), before=self._escape(before))

    def format_moment(self, moment: datetime) -> str:
        here = moment.astimezone(ZoneInfo(self._reader.zone))
        return format_when(When(here.date(), here, has_time=True), now=self._reader.now or here, locale=self._locale)

    def format_day(self, moment: datetime) -> str:
        return format_day_of(moment, self._reader.zone, now=self._reader.now or moment, locale=self._locale)

    def name_field(self, name: str) -> str:
        return _read_fields(self._locale).get(name, name)

    @property
    def now(self) -> datetime | None:
        return self._reader.now

    def _escape(self, text: str) -> str:
        return escape_text(text, locale=self._locale)


def _read_fields(locale: Locale) -> dict[str, str]:
    return _LEXICON.read_table("fields", locale)


def _list_new_lines(terms: OrderTerms, image: JsonObject, week: JsonObject, writer: _Writer) -> Iterator[PreviewLine]:
    yield from _list_when(terms, writer)
    if image.get("records"):
        yield writer.build_line("records", str(image["records"]))
    yield writer.build_line("what", _describe_deed(terms, image, writer))
    yield writer.build_line("to", writer.format_words(_READERS.get(tuple(terms.to), "to_both")))
    yield writer.build_line("rights", writer.format_words("my_rights"))
    if writer.now is not None and not terms.at:
        end = parse_iso(terms.until) if terms.until else writer.now + LIFETIME
        yield writer.build_line("until", writer.format_day(end))
    if week and not terms.at:
        yield writer.build_line("week", _describe_week(week, writer))


def _list_when(terms: OrderTerms, writer: _Writer) -> Iterator[PreviewLine]:
    if terms.kind != "time":
        yield writer.build_line("when", _describe_watching(terms, writer))
        return
    parsed = parse_terms(terms.at or None, terms.cron or None, terms.zone)
    if parsed.at is not None:
        yield writer.build_line("when", writer.format_moment(parsed.at))
    elif writer.now is not None:
        yield writer.build_line("next", "\n".join(map(writer.format_moment, parsed.list_moments(writer.now))))


def _describe_watching(terms: OrderTerms, writer: _Writer) -> str:
    if terms.quiet:
        return writer.format_words("quiet", days=terms.quiet)
    names = [writer.name_field(name) for name in terms.changes if name != NEW]
    texts = (
        [writer.format_words("changes_if" if terms.condition else "changes", fields=", ".join(names), condition=terms.condition)]
        if names
        else []
    )
    return "; ".join([*texts, *([writer.format_words("new")] if NEW in terms.changes else [])])


def _describe_deed(terms: OrderTerms, image: JsonObject, writer: _Writer) -> str:
    if terms.report:
        return writer.format_words("do_report", title=str(image.get("report") or ""))
    if terms.propose:
        return writer.format_words("do_propose")  # what it is stands below, drawn as a card would
    if terms.text:
        return writer.format_words("do_text", text=terms.text)
    return writer.format_words("do_tell")


def _describe_week(week: JsonObject, writer: _Writer) -> str:
    count, records = (int(week.get(name) or 0) for name in ("count", "records"))
    name = _WEEKS[week["kind"]] if count or records else "week_none"
    text = writer.format_words(name, count=count, records=records)
    if not week.get("since"):
        return text
    return writer.format_words("week_short", text=text, day=writer.format_moment(parse_iso(str(week["since"]))))


def _list_changed_lines(params: JsonObject, before: JsonObject, writer: _Writer) -> Iterator[PreviewLine]:
    old = OrderTerms.model_validate(before)
    changed: dict[str, Any] = {name: params[name] for name in ("at", "cron", "quiet", "text", "to", "until") if name in params}
    new = OrderTerms.model_validate({**before, **({"at": "", "cron": ""} if {"at", "cron"} & changed.keys() else {}), **changed})
    if {"at", "cron", "quiet"} & changed.keys():
        yield from _list_when(new, writer)
    if "text" in changed:
        yield writer.build_line(
            "what", writer.format_words("do_text", text=new.text), writer.format_words("do_text", text=old.text) if old.text else ""
        )
    if "to" in changed:
        yield writer.build_line("to", *(writer.format_words(_READERS.get(tuple(terms.to), "to_both")) for terms in (new, old)))
    if "until" in changed:
        yield writer.build_line("until", writer.format_day(parse_iso(new.until)))
    if "status" in params:
        yield writer.build_line("status", writer.format_words(str(params["status"])))
