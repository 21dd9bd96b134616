"""Digest, /today, evening summary and reminders as text, and what the buttons of a reminder carry. Ring 3, pure; no text is markup."""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final, NamedTuple

from bot.i18n.translate import Translator
from bot.rendering.replies import heading, table_text
from bot.rendering.spans import Span, Spans, bold, joined, spans
from orchestrator.directory.date_format import format_day
from orchestrator.messages import Notice, Table

Body = Mapping[str, Any]

_ACTIONS: Final = {"d": "drop", "h": "hour", "m": "morning"}
_DATA = re.compile(r"r1:([0-9a-f]{32}):([dhm]):(list|[sdlm][0-9]{1,12})")
_REMINDER: Final = {
    "set": "reminder-set",
    "due": "reminder-due",
    "late": "reminder-late",
    "moved": "reminder-moved",
    "dropped": "reminder-dropped",
}
_ON_BUTTON: Final = 30
ROWS: Final = 5
"""So many of each list of a digest are shown."""


class Button(NamedTuple):
    """What it says and what it sends back."""

    text: str
    data: str


def daily_text(body: Body, tr: Translator) -> Spans:
    """A body of kind "daily"."""
    if body["what"] == "lost":
        return joined([spans(tr.say("daily-lost")), spans(tr.say("daily-off"))], "\n\n")
    return _evening(body, tr) if body["what"] == "evening" else _agenda(body, tr)


def reminder_text(body: Body, tr: Translator) -> Spans:
    """A body of kind "reminder"."""
    if body["what"] == "elsewhere":
        return spans(tr.say("reminder-elsewhere"))
    if body["what"] == "list":
        return _listed(body, tr)
    told = tr.say(_REMINDER[body["what"]], when=body["hour"] if body["what"] == "late" and body["hour"] else body["when"])
    return spans(bold(told), " ", Span(str(body["text"]), url=str(body.get("url") or "")))


def reminder_buttons(body: Body, tr: Translator) -> list[list[Button]]:
    """The rows of buttons under a body of kind "reminder"."""
    match body["what"]:
        case "set" | "moved":
            return [[Button(tr.say("button-reminder-drop"), _data(body, "d", str(body["place"])))]]
        case "due" | "late":
            place = str(body["place"])
            hour, morning = tr.say("button-reminder-hour"), tr.say("button-reminder-morning")
            return [[Button(hour, _data(body, "h", place)), Button(morning, _data(body, "m", place))]]
        case "list":
            drop = tr.say("button-reminder-drop")
            return [[Button(f"{drop}: {_short(item['text'])}", _data(item, "d", "list"))] for item in body["items"]]
        case _:
            return []


def reminder_press(data: str) -> dict[str, str] | None:
    """What a button of ours asks for, as the body of an input of kind "reminder"; None for anything else."""
    found = _DATA.fullmatch(data)
    return {"reminder": found[1], "action": _ACTIONS[found[2]], "place": found[3]} if found else None


def _data(item: Body, action: str, place: str) -> str:
    return f"r1:{item['reminder']}:{action}:{place}"


def _short(text: str) -> str:
    return text if len(text) <= _ON_BUTTON else f"{text[: _ON_BUTTON - 1]}…"


def _listed(body: Body, tr: Translator) -> Spans:
    if not body["items"]:
        return spans(tr.say("reminder-none"))
    lines = [spans("• ", item["when"], " — ", Span(str(item["text"]), url=str(item["url"]))) for item in body["items"]]
    more = spans(tr.say("daily-more", count=body["more"])) if body["more"] else ()
    return spans(bold(tr.say("reminder-list")), "\n", joined([*lines, more], "\n"))


def _agenda(body: Body, tr: Translator) -> Spans:
    """Headed lists, the team's numbers, what could not be read; a friendly sentence where there is nothing."""
    day = date.fromisoformat(body["day"])
    title = tr.say("daily-digest", day=format_day(day, today=day, locale=tr.locale)) if body["what"] == "digest" else ""
    blocks = [bold(title)] if title else []
    for section in body["sections"]:
        name = tr.notice(Notice(code=section["code"]))
        blocks.append(spans(bold(name), "\n", table_text(_beginning(Table.model_validate(section["table"])), tr, gap="\n")))
    if body.get("without_user"):  # stored bodies of older versions do not tell
        blocks.append(spans(tr.say("no-bitrix-user")))
    elif not body["sections"] and not body["unread"]:
        blocks.append(spans(tr.say("daily-free")))
    blocks.append(_team(body["team"], tr))
    if body["unread"]:
        blocks.append(spans(tr.say("daily-unread", lists=", ".join(f"«{tr.say(code)}»" for code in body["unread"]))))
    if body["what"] == "digest":
        blocks.append(spans(tr.say("daily-off")))
    return joined(blocks, "\n\n")


def _beginning(table: Table) -> Table:
    """A morning needs what is most urgent: the lists are sorted, and their foot tells how many there are."""
    return table.model_copy(update={"rows": table.rows[:ROWS]})


def _team(lines: Sequence[Body], tr: Translator) -> Spans:
    if not lines:
        return ()
    rows = [
        spans("• ", line["name"], ": ", _numbers(line, tr)) if line["name"] else spans(tr.say("daily-team-all"), " ", _numbers(line, tr))
        for line in lines
    ]
    return spans(bold(tr.say("today-team")), "\n", joined(rows, "\n"))


def _numbers(line: Body, tr: Translator) -> str:
    return tr.say("daily-team-line", **{key: int(line[key]) for key in ("overdue", "due", "closing", "idle")})


def _evening(body: Body, tr: Translator) -> Spans:
    """What was changed, by person; what waits; what is unknown."""
    day = date.fromisoformat(body["day"])
    blocks = [bold(tr.say("daily-evening", day=format_day(day, today=day, locale=tr.locale)))]
    blocks.extend(_person(person, tr) for person in body["people"])
    if not body["people"]:
        blocks.append(spans(tr.say("daily-evening-nothing")))
    for code, group in (("daily-evening-waiting", body["waiting"]), ("daily-evening-unknown", body["unknown"])):
        if group["count"]:
            lines = [_open(line, tr) for line in group["lines"]]
            more = spans(tr.say("daily-more", count=group["more"])) if group["more"] else ()
            blocks.append(spans(bold(tr.say(code, count=group["count"])), "\n", joined([*lines, more], "\n")))
    return joined([*blocks, spans(tr.say("daily-off"))], "\n\n")


def _person(person: Body, tr: Translator) -> Spans:
    lines = [spans("• ", _call(line, tr)) for line in person["lines"]]
    more = spans(tr.say("daily-more", count=person["more"])) if person["more"] else ()
    head = bold(tr.say("daily-evening-person", name=person["name"], count=person["count"]))
    return spans(head, "\n", joined([*lines, more], "\n"))


def _open(line: Body, tr: Translator) -> Spans:
    """A card that waits, or a call of unknown outcome."""
    if "preview" not in line:
        return spans("• ", line["who"], ": ", _call(line, tr))
    until = tr.say("daily-until", at=line["until"]) if line["until"] else ""
    return spans("• ", line["who"], ": ", heading(line["preview"], line["method"], tr), f" · {until}" if until else "")


def _call(line: Body, tr: Translator) -> str:
    return tr.say("call-named", **(line["named"] or {"method": line["method"], "verb": "other", "entity": "", "count": 1, "parts": "none"}))
