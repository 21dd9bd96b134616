"""What is wrong with a definition; each line leads to its place."""

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
    """With `on_click` those with a line are buttons."""
    with ui.element("div").classes("findings").props("role=list"):
        for finding in findings[:_SHOWN]:
            with ui.element("div").classes(f"finding finding-{finding.severity}").props("role=listitem"):
                _draw_one(visit, finding, on_click)
    if len(findings) > _SHOWN:
        show_empty(visit.say("console-findings-more", count=len(findings) - _SHOWN))


def _draw_one(visit: Visit, finding: Finding, on_click: Callable[[Finding], None] | None) -> None:
    show_badge(visit.say("author-severity", severity=finding.severity), tone=_TONES[finding.severity])
    with ui.element("div").classes("found-words"):
        show_text(visit.tr.translate_notice(finding.notice))
        if finding.suggestion:
            show_text(visit.say("console-finding-meant", meant=finding.suggestion[:_LONGEST_WORD]), classes="small muted")
        if finding.path:
            ui.label(finding.path).classes("mono muted")
    if not finding.line:
        return
    place = f"{finding.line}:{finding.column}"
    if on_click is None:
        ui.label(place).classes("mono muted")
        return
    button = ui.button(place, on_click=lambda: on_click(finding)).props("flat dense no-caps").classes("mono")
    button.props["aria-label"] = visit.say("console-finding-go", line=finding.line, column=finding.column)
