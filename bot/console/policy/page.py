from dataclasses import dataclass

from nicegui import ui

from bot.console.policy.editor import draw_editor
from bot.console.policy.words import format_row
from bot.console.visit import Visit
from bot.console.widgets import build_panel, show_badge, show_empty, show_heading, show_text
from bot.policy.policy_desk import PolicySaver
from bot.policy.policy_file import PolicyText
from orchestrator.reports.policy_check import PolicyPart, PolicyRow


@dataclass(frozen=True, kw_only=True)
class PolicyView:
    digest: str
    parts: tuple[PolicyPart, ...]
    file: str = ""
    """Identifies the text of the owner's file; "" if there is none."""
    saver: PolicySaver | None = None


async def show_policy(visit: Visit) -> None:
    """What is in force is kept current, the editor never redrawn."""
    desk = visit.services.policy
    file = await desk.read()
    _show_file(visit, file)
    if visit.actor.role == "admin" and not file.why:
        await draw_editor(visit, file)
    await visit.keep_current(lambda: _load(visit), lambda view: _draw(visit, view))


def _show_file(visit: Visit, file: PolicyText) -> None:
    """Says why it cannot be edited here."""
    if visit.actor.role != "admin":
        ui.label(visit.say("console-policy-reader")).classes("muted")
    elif file.why:
        with build_panel().classes("policy-closed"):
            ui.label(visit.say("console-policy-closed", why=file.why, name=file.name)).classes("text")


async def _load(visit: Visit) -> PolicyView:
    desk = visit.services.policy
    file = await desk.read()
    return PolicyView(
        digest=desk.digest,
        parts=desk.describe(),
        file=file.digest if file.why not in {"not_set", "missing", "unreadable"} else "",
        saver=await desk.find_saver(),
    )


def _draw(visit: Visit, view: PolicyView) -> None:
    show_heading(visit.say("console-policy-now"))
    ui.label(visit.say("console-policy-version", digest=view.digest)).classes("muted small")
    if view.file and view.saver is not None:
        code = "console-policy-saved-by" if view.saver.digest == view.file else "console-policy-saved-elsewhere"
        who = view.saver.name or view.saver.key
        ui.label(visit.say(code, who=who, moment=visit.tr.format_time(view.saver.at))).classes("muted small").props("dir=auto")
    with ui.element("div").classes("policy-parts"):
        for part in view.parts:
            if part.rows:
                _draw_part(visit, part)


def _draw_part(visit: Visit, part: PolicyPart) -> None:
    with build_panel().classes("policy-part policy-wide" if part.name == "rules" else "policy-part"):
        ui.label(visit.say("console-policy-part", part=part.name)).classes("strong").props("role=heading aria-level=3")
        if part.name == "rules":
            for row in part.rows:
                _draw_rule(visit, row)
            return
        with ui.element("dl").classes("facts"):
            for row in part.rows:
                with ui.element("dt"):
                    ui.label(visit.say("console-policy-key", key=row.key, name=row.words[0] if row.words else ""))
                with ui.element("dd"):
                    _show_value(visit, row)


def _show_value(visit: Visit, row: PolicyRow) -> None:
    words = format_row(visit, row)
    if not words:
        show_empty(visit.say("console-policy-none", key=row.key))
    for word in words:
        show_text(word)


def _draw_rule(visit: Visit, row: PolicyRow) -> None:
    why, *conditions = format_row(visit, row)
    with ui.element("div").classes("policy-rule"):
        show_badge(visit.say("console-policy-then", then=row.key), tone="bad" if row.key == "refuse" else "warn")
        with ui.element("div").classes("policy-rule-words"):
            show_text(why)
            show_text(" · ".join(conditions), classes="muted small")
