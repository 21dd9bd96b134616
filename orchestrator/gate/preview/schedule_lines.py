"""A schedule's card: the moments in words, and the cron line itself, since it is what is approved."""

from typing import Final
from zoneinfo import ZoneInfo

from orchestrator.domain.card_view import PreviewLine
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.run_schedules import DEFINITION, TITLE
from orchestrator.gate.preview.format_values import Reader
from orchestrator.language.date_format import When, format_when
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.schedule_terms import Terms, parse_terms
from state.canonical import dumps
from state.clock import parse_iso

_WORDS: Final = load_lexicon("card_kinds")
_TITLES: Final = {name: _WORDS.read_titles(f"schedule_{name}") for name in ("at", "cron", "next", "note", "value")}


def name_definition(call: Call, facts: Facts, _reader: Reader) -> str:
    """The definition whose runs are started."""
    return str((facts.images.get(DEFINITION) or {}).get(TITLE) or call.params.get(DEFINITION, ""))


def build_schedule_lines(call: Call, _facts: Facts, reader: Reader) -> list[PreviewLine]:
    params = call.params
    terms = parse_terms(params.get("at"), params.get("cron"), params.get("zone") or reader.zone)
    lines = [_build_line("at", _format_moments(terms, reader), reader)] if terms.at is not None else _build_repetition(terms, reader)
    if params.get("note"):
        lines.append(_build_line("note", str(params["note"]), reader))
    for name, value in params.get("args", {}).items():
        text = value if isinstance(value, str) else dumps(value)
        lines.append(PreviewLine(field=name, name=_TITLES["value"][reader.locale].format(name=name), after=_escape(text, reader)))
    return lines


def _build_repetition(terms: Terms, reader: Reader) -> list[PreviewLine]:
    moments = [_build_line("next", _format_moments(terms, reader), reader)] if reader.now is not None else []
    return [*moments, _build_line("cron", f"{terms.cron} ({terms.zone})", reader)]


def _format_moments(terms: Terms, reader: Reader) -> str:
    after = reader.now or parse_iso("2000-01-01T00:00:00Z")
    moments = [terms.at] if terms.at is not None else terms.list_moments(after)
    here = [moment.astimezone(ZoneInfo(reader.zone)) for moment in moments]
    return "\n".join(format_when(When(one.date(), one, has_time=True), now=after, locale=reader.locale) for one in here)


def _build_line(name: str, text: str, reader: Reader) -> PreviewLine:
    return PreviewLine(field=name, name=_TITLES[name][reader.locale], after=_escape(text, reader))


def _escape(text: str, reader: Reader) -> str:
    return escape_text(text, locale=reader.locale)
