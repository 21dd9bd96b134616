"""Renders the morning digest, /today, the evening summary and reminders. Pure. Foreign texts are never read as markup."""

import re
from collections.abc import Sequence
from datetime import date
from typing import Final, NamedTuple

from bot.i18n.translate import Translator
from bot.rendering.headings import render_heading
from bot.rendering.spans import Span, Spans, build_spans, format_bold, join_blocks
from bot.rendering.tables import render_table
from orchestrator.domain.message_views import CallGroup, CallLine, DailyBody, ReminderBody, ReminderItem, TeamLine
from orchestrator.domain.outputs import Notice
from orchestrator.language.date_format import format_day
from orchestrator.language.text import quote, trim_text
from state.stored import JsonObject

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
"""Rows of each list in the morning digest."""


class ReminderButton(NamedTuple):
    text: str
    data: str


def render_daily(body: JsonObject, tr: Translator) -> Spans:
    daily = DailyBody.model_validate(body)
    if daily.what == "lost":
        return join_blocks([build_spans(tr.translate("daily-lost")), build_spans(tr.translate("daily-off"))], "\n\n")
    return _render_evening(daily, tr) if daily.what == "evening" else _render_agenda(daily, tr)


def render_reminder(body: JsonObject, tr: Translator) -> Spans:
    reminder = ReminderBody.model_validate(body)
    if reminder.what == "elsewhere":
        return build_spans(tr.translate("reminder-elsewhere"))
    if reminder.what == "list":
        return _render_reminder_list(reminder, tr)
    head = tr.translate(_REMINDER[reminder.what], when=reminder.hour if reminder.what == "late" and reminder.hour else reminder.when)
    return build_spans(format_bold(head), " ", Span(reminder.text, url=reminder.url))


def build_reminder_buttons(body: JsonObject, tr: Translator) -> list[list[ReminderButton]]:
    """Empty if the message has no buttons."""
    reminder, drop = ReminderBody.model_validate(body), tr.translate("button-reminder-drop")
    match reminder.what:
        case "set" | "moved":
            return [[ReminderButton(drop, _build_callback_data(reminder, "d", reminder.place))]]
        case "due" | "late":
            labels = {"h": tr.translate("button-reminder-hour"), "m": tr.translate("button-reminder-morning")}
            return [[ReminderButton(label, _build_callback_data(reminder, action, reminder.place)) for action, label in labels.items()]]
        case "list":
            texts = [(item, trim_text(item.text, limit=_ON_BUTTON)) for item in reminder.items]
            return [[ReminderButton(f"{drop}: {text}", _build_callback_data(item, "d", "list"))] for item, text in texts]
        case _:
            return []


def parse_reminder_click(data: str) -> dict[str, str] | None:
    """None for other data. `place` identifies the clicked message among those about the reminder."""
    match = _DATA.fullmatch(data)
    return {"reminder": match[1], "action": _ACTIONS[match[2]], "place": match[3]} if match else None


def _build_callback_data(item: ReminderItem, action: str, place: str) -> str:
    return f"r1:{item.reminder}:{action}:{place}"


def _render_reminder_list(body: ReminderBody, tr: Translator) -> Spans:
    if not body.items:
        return build_spans(tr.translate("reminder-none"))
    lines = [build_spans("• ", item.when, " — ", Span(item.text, url=item.url)) for item in body.items]
    return build_spans(format_bold(tr.translate("reminder-list")), "\n", join_blocks([*lines, _render_rest(body.more, tr)], "\n"))


def _render_rest(more: int, tr: Translator) -> Spans:
    return build_spans(tr.translate("daily-more", count=more)) if more else ()


def _render_agenda(body: DailyBody, tr: Translator) -> Spans:
    """Lists, the team's numbers, and lists that could not be read; a friendly sentence if there is nothing to do."""
    day = date.fromisoformat(body.day)
    title = tr.translate("daily-digest", day=format_day(day, today=day, locale=tr.locale)) if body.what == "digest" else ""
    blocks = [format_bold(title)] if title else []
    blocks.append(_render_team(body.team, tr))
    for section in body.sections:
        name = tr.translate_notice(Notice(code=section.code))
        table = section.table.model_copy(update={"rows": section.table.rows[:ROWS]})  # sorted by urgency; the footer tells the total
        blocks.append(build_spans(format_bold(name), "\n", render_table(table, tr, gap="\n")))
    if body.without_user:
        blocks.append(build_spans(tr.translate("no-bitrix-user")))
    elif not body.sections and not body.unread:
        blocks.append(build_spans(tr.translate("daily-free-own" if body.team else "daily-free")))
    if body.unread:
        blocks.append(
            build_spans(tr.translate("daily-unread", lists=", ".join(quote(tr.translate(code), tr.locale) for code in body.unread)))
        )
    if body.what == "digest":
        blocks.append(build_spans(tr.translate("daily-off")))
    return join_blocks(blocks, "\n\n")


def _render_team(lines: Sequence[TeamLine], tr: Translator) -> Spans:
    """All of them in the first line."""
    if not lines:
        return ()
    whole = next((line for line in lines if not line.name), lines[-1])
    head = build_spans(format_bold(f"{tr.translate('today-team')}:"), " ", _render_team_numbers(whole, tr))
    rows = [build_spans("• ", line.name, ": ", _render_team_numbers(line, tr)) for line in lines if line.name]
    return join_blocks([head, *rows], "\n")


def _render_team_numbers(line: TeamLine, tr: Translator) -> str:
    return tr.translate("daily-team-line", **line.model_dump(exclude={"name"}))


def _render_evening(body: DailyBody, tr: Translator) -> Spans:
    """What each person changed, open cards, and unknown outcomes."""
    day = date.fromisoformat(body.day)
    blocks = [format_bold(tr.translate("daily-evening", day=format_day(day, today=day, locale=tr.locale)))]
    blocks.extend(_render_person(person, tr) for person in body.people)
    if not body.people:
        blocks.append(build_spans(tr.translate("daily-evening-nothing")))
    for code, group in (("daily-evening-waiting", body.waiting), ("daily-evening-unknown", body.unknown)):
        if group.count:
            lines = [*(_render_open_item(line, tr) for line in group.lines), _render_rest(group.more, tr)]
            blocks.append(build_spans(format_bold(tr.translate(code, count=group.count)), "\n", join_blocks(lines, "\n")))
    return join_blocks([*blocks, build_spans(tr.translate("daily-off"))], "\n\n")


def _render_person(person: CallGroup, tr: Translator) -> Spans:
    lines = [*(build_spans("• ", _render_call(line, tr)) for line in person.lines), _render_rest(person.more, tr)]
    return build_spans(
        format_bold(tr.translate("daily-evening-person", name=person.name, count=person.count)), "\n", join_blocks(lines, "\n")
    )


def _render_open_item(line: CallLine, tr: Translator) -> Spans:
    """An open card or a call with an unknown outcome."""
    if line.preview is None:
        return build_spans("• ", line.who, ": ", _render_call(line, tr))
    until = tr.translate("daily-until", at=line.until) if line.until else ""
    return build_spans("• ", line.who, ": ", render_heading(line.preview, line.method, tr), f" · {until}" if until else "")


def _render_call(line: CallLine, tr: Translator) -> str:
    return tr.translate("call-named", **(line.named or {"method": line.method, "verb": "other", "entity": "", "count": 1, "parts": "none"}))
