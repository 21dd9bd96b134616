"""Why a call was made, from the request to what changed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from nicegui import ui

from bot.console.audit.page import TONES
from bot.console.audit.query import ADDRESS
from bot.console.audit.search import ChangedField, describe_story, list_changes
from bot.console.audit.why import LaterChange, WhyView, load_why
from bot.console.conversations.page import build_address
from bot.console.conversations.turn_items import dump_json
from bot.console.conversations.turn_widgets import show_folded
from bot.console.visit import Visit
from bot.console.widgets import cut_text, show_badge, show_text
from bot.console.words import describe_call, format_duration, show_record
from orchestrator.reports.why.story import CallStory, Decision, Doubt, Run

_ERASED: Final = "(erased)"
_WITH_RECORDS: Final = 3


async def show_why(visit: Visit) -> None:
    """Raises ApiError 404 also if it may not be seen."""
    effect_id, event_id = visit.params["effect_id"], visit.query.get("at", "")
    await visit.keep_current(lambda: load_why(visit, effect_id, event_id), lambda view: _draw(visit, view))


def _draw(visit: Visit, view: WhyView) -> None:
    story = view.story
    with ui.element("div").classes("panel why-head"):
        with ui.element("div").classes("audit-head"):
            show_badge(visit.say("console-audit-outcome", outcome=story.outcome), tone=TONES.get(story.outcome, "plain"))
            ui.label(cut_text(describe_story(visit, story), limit=300)).classes("why-title").props("role=heading aria-level=2 dir=auto")
            ui.label(visit.tr.format_time(story.at)).classes("muted small audit-when")
        with ui.element("div").classes("audit-facts"):
            for record in story.records[:_WITH_RECORDS]:
                show_record(visit, record)
                ui.link(visit.say("console-why-record"), f"{ADDRESS}?record={record}").classes("small")
        if story.erased or story.unreadable:
            ui.label(visit.say("console-why-erased" if story.erased else "console-why-unreadable")).classes("warn-line")
    _draw_changes(visit, list_changes(story))
    _draw_request(visit, view)
    _draw_proposal(visit, view)
    _draw_verdict(visit, story)
    _draw_decision(visit, view)
    _draw_run(visit, story)
    if story.doubt is not None:
        _draw_doubt(visit, story.doubt)
    _draw_later(visit, view.later)
    ui.label(visit.say("console-why-id", number=story.effect_id)).classes("muted small mono why-id")


@contextmanager
def _section(visit: Visit, part: str, icon: str, at: str = "") -> Iterator[None]:
    with ui.element("section").classes("item why-part"):
        ui.icon(icon).classes("item-icon").props("aria-hidden=true")
        with ui.element("div").classes("item-body"):
            with ui.element("div").classes("item-head"):
                ui.label(visit.say("console-why-part", part=part)).classes("strong").props("role=heading aria-level=3")
                if at:
                    ui.label(visit.tr.format_time(at)).classes("muted small item-time")
            yield


def _say_erased(visit: Visit, text: str) -> str:
    return visit.say("console-talk-erased") if text == _ERASED else text


def _draw_changes(visit: Visit, changes: Sequence[ChangedField]) -> None:
    if not changes:
        return
    with ui.element("div").classes("panel why-table"), ui.element("table"):
        with ui.element("thead"), ui.element("tr"):
            for column in ("field", "before", "after"):
                with ui.element("th").props("scope=col"):
                    ui.label(visit.say("console-why-column", column=column))
        with ui.element("tbody"):
            for change in changes:
                with ui.element("tr"):
                    for text, classes in ((change.name, "strong"), (change.before or "—", "muted"), (change.after, "")):
                        with ui.element("td"):
                            show_text(_say_erased(visit, text), classes=classes)


def _draw_request(visit: Visit, view: WhyView) -> None:
    request = view.story.asked
    with _section(visit, "asked", "person", request.at if request is not None else ""):
        if request is None:
            ui.label(visit.say("console-why-nobody"))
            return
        ui.label(cut_text(view.asked_by or request.person, limit=160)).props("dir=auto")
        if view.run_title:
            ui.link(visit.say("console-why-run", name=cut_text(view.run_title, limit=80)), f"/runs/{view.run_id}")
        elif not view.shows_words:
            ui.label(visit.say("console-why-private")).classes("muted small")
        elif request.words:
            show_text(_say_erased(visit, request.words), classes="why-words")
            if request.with_foreign_text:
                ui.label(visit.say("console-why-foreign")).classes("muted small")
            ui.link(visit.say("console-why-talk"), build_address(view.story.session)).classes("small")


def _draw_proposal(visit: Visit, view: WhyView) -> None:
    proposed = view.story.proposed
    if proposed is None:
        return
    with _section(visit, "proposed", "psychology", proposed.at):
        if proposed.model:
            ui.label(cut_text(proposed.model, limit=80)).classes("muted small")
        if view.shows_words and proposed.thought:
            show_text(_say_erased(visit, proposed.thought))
        if view.shows_words and proposed.step.comment:
            show_text(proposed.step.comment, classes="muted small")
        if proposed.step.method:
            show_folded(
                _say_call(visit, proposed.step.method),
                dump_json({"method": proposed.step.method, "params": proposed.step.params}),
                is_code=True,
            )


def _draw_verdict(visit: Visit, story: CallStory) -> None:
    judged = story.judged
    with _section(visit, "judged", "gavel", judged.at):
        ui.label(visit.say("console-why-verdict", decision=judged.decision))
        if judged.decision in {"asked", "refused"}:  # the other reasons say what the sentence says
            for reason in judged.reasons:
                show_text(_say_erased(visit, reason), classes="muted")


def _draw_decision(visit: Visit, view: WhyView) -> None:
    card = view.story.card
    if card is None:
        return
    decided = card.decided
    with _section(visit, "decided", "how_to_reg", decided.at if decided is not None else ""):
        if decided is None:
            ui.label(visit.say("console-why-waits"))
        else:
            _draw_decider(visit, decided, view.decided_by)
        for attempt in view.attempts:
            sentence = visit.say("console-why-attempt", name=cut_text(attempt.by, limit=120), time=visit.tr.format_time(attempt.at))
            show_text(f"{sentence}: {attempt.why}", classes="muted small")


def _draw_decider(visit: Visit, decided: Decision, name: str) -> None:
    way = visit.say("history-via", via=decided.via) if decided.via and name else ""
    sentence = visit.say("console-audit-decision", decision=decided.status)
    ui.label(", ".join(part for part in (f"{sentence}: {cut_text(name, limit=120)}" if name else sentence, way) if part)).props("dir=auto")
    ui.label(visit.say("console-why-waited", waited=format_duration(visit.tr, decided.waited_seconds))).classes("muted small")
    if decided.reason:
        show_text(_say_erased(visit, decided.reason), classes="muted")
    if decided.superseded is not None:
        show_text(visit.say("console-why-superseded", reason=decided.superseded.why), classes="muted")


def _draw_run(visit: Visit, story: CallStory) -> None:
    run = story.run
    if run is None:
        with _section(visit, "sent", "send"):
            ui.label(visit.say("console-why-not-sent"))
        return
    with _section(visit, "sent", "send", run.started_at):
        if not run.sent:
            ui.label(visit.say("console-why-not-sent" if run.outcome == "refused" else "console-why-read"))
        show_folded(_say_call(visit, story.method), dump_json({"method": story.method, "params": story.params}), is_code=True)
    with _section(visit, "answered", "flag", run.ended_at):
        _draw_answer(visit, run)


def _draw_answer(visit: Visit, run: Run) -> None:
    show_badge(visit.say("console-audit-outcome", outcome=run.outcome), tone=TONES.get(run.outcome, "plain"))
    if run.seconds is not None:
        ui.label(format_duration(visit.tr, run.seconds)).classes("muted small")
    if run.answer and run.outcome != "unknown":  # the part about the doubt tells of it
        show_text(_say_erased(visit, run.answer), classes="mono")
    for command in run.commands:
        sentence = visit.say("console-why-command", status=command.status)
        show_text(f"{_say_call(visit, command.method)} — {sentence} {command.error}".strip(), classes="small")
    if run.unchanged:
        show_text(visit.say("console-talk-unchanged", fields=", ".join(run.unchanged)), classes="warn-line")


def _say_call(visit: Visit, method: str) -> str:
    return cut_text(describe_call(visit.tr, method, ()), limit=200)


def _draw_doubt(visit: Visit, doubt: Doubt) -> None:
    with _section(visit, "doubt", "help", doubt.at):
        ui.label(visit.say("console-talk-outcome", state="unknown"))
        for look in doubt.looks:
            sentence = visit.say("console-talk-verdict", verdict=look.verdict)
            ui.label(f"{visit.tr.format_time(look.at)} · {sentence}")
        if details := "\n".join(filter(None, (doubt.detail, *(look.detail for look in doubt.looks)))):  # what the program noted, in English
            show_folded(visit.say("console-talk-details"), details, is_code=True)


def _draw_later(visit: Visit, later: Sequence[LaterChange]) -> None:
    with _section(visit, "later", "history"):
        if not later:
            ui.label(visit.say("console-why-nothing-later")).classes("muted")
        for later_change in later:
            with ui.element("div").classes("why-later"):
                ui.label(visit.tr.format_time(later_change.at)).classes("muted small")
                if not later_change.address:
                    ui.label(visit.say("history-portal"))
                else:
                    ui.link(cut_text(later_change.what, limit=160), later_change.address).props("dir=auto")
                    ui.label(cut_text(later_change.who, limit=120)).classes("muted").props("dir=auto")
                    show_badge(
                        visit.say("console-audit-outcome", outcome=later_change.status), tone=TONES.get(later_change.status, "plain")
                    )
                if later_change.is_undo:
                    show_badge(visit.say("console-why-undo"), tone="warn")
                for change in later_change.changes:
                    show_text(change.format(), classes="small")
