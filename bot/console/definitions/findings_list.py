"""The list of what is wrong with a definition, or worth knowing about it: each line leads to its place in the text."""

from collections.abc import Callable, Sequence
from typing import Final

from nicegui import ui

from bot.console.visit import Visit
from bot.console.widgets import show_badge, show_empty, show_text
from orchestrator.domain.finding import Finding, Severity

_TONES: Final[dict[Severity, str]] = {"error": "bad", "warning": "warn", "info": "plain"}
_LONGEST_WORD: Final = 200
_SHOWN: Final = 30


def draw_findings(visit: Visit, findings: Sequence[Finding], *, on_click: Callable[[Finding], None] | None = None) -> None:
    """Draw the findings here; with `on_click` those with a line are buttons."""
    with ui.element("div").classes("findings").props("role=list"):
        for one in findings[:_SHOWN]:
            with ui.element("div").classes(f"finding finding-{one.severity}").props("role=listitem"):
                _draw_one(visit, one, on_click)
    if len(findings) > _SHOWN:
        show_empty(visit.say("console-findings-more", count=len(findings) - _SHOWN))


def _draw_one(visit: Visit, one: Finding, on_click: Callable[[Finding], None] | None) -> None:
    show_badge(visit.say("author-severity", severity=one.severity), tone=_TONES[one.severity])
    with ui.element("div").classes("found-words"):
        show_text(visit.tr.translate_notice(one.notice))
        if one.suggestion:
            show_text(visit.say("console-finding-meant", meant=one.suggestion[:_LONGEST_WORD]), classes="small muted")
        if one.path:
            ui.label(one.path).classes("mono muted")
    if not one.line:
        return
    place = f"{one.line}:{one.column}"
    if on_click is None:
        ui.label(place).classes("mono muted")
        return
    button = ui.button(place, on_click=lambda: on_click(one)).props("flat dense no-caps").classes("mono")
    button.props["aria-label"] = visit.say("console-finding-go", line=one.line, column=one.column)
