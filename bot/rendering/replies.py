"""Renders the replies of a turn as text. Pure. Only texts of the model are read as Markdown."""

from itertools import groupby

from bot.i18n.translate import Translator
from bot.rendering.batches import list_items
from bot.rendering.daily import render_daily
from bot.rendering.headings import list_changes, render_heading
from bot.rendering.markdown import render_markdown
from bot.rendering.report_caption import render_report_text
from bot.rendering.spans import Span, Spans, build_spans, format_bold, join_blocks
from bot.rendering.tables import MAX_ROWS, render_table
from orchestrator.domain.card_view import Preview
from orchestrator.domain.outputs import MADE_CODES, DayPart, Notice, Passage, Reply, ReplyPart, ReportPart, SheetPart, Text

_ORDERS = (
    *("order-added", "order-changed", "order-person-paused", "order-was-resumed", "order-was-removed", "order-expired", "order-line"),
    *("order-now", "order-late", "order-says", "order-news", "order-news-owner", "order-proposes", "orders-listed", "orders-restored"),
)
_PLAIN = frozenset(
    {
        "chosen",
        "which-deal",
        "which-lead",
        "which-contact",
        "which-company",
        "which-task",
        "which-reminder",
        "which-user",
        "which-stage",
        "which-field",
        "which-option",
        "which-date",
        "nearest-record",
        "nearest-user",
        "nearest-stage",
        "nearest-field",
        "nearest-option",
        "nearest-category",
        "which-sum",
        "which-of-more",
        "waiting-on-card",
        "withdrawn",
        "duplicates-found",
        "duplicate-elsewhere",
        "duplicate-taken",
        "done-already",
        "made-more",
        "made-unshown",
        "list-is-whole",
        "name-means-all",
        "only-own",
        "only-own-sought",
        "reminder-told",
        "mode",
        "status",
        "budget-used",
        "stopping",
        "stop-queue",
        "runs-listed",
        "run-line",
        "run-cancel-which",
        "run-ended",
        "run-is-paused",
        "run-question-late",
        "run-question-left",
        "run-question-below",
        "run-went-back",
        "run-no-way-back",
        "run-how-to-leave",
        "run-doubt",
        "run-answer-photo",
        "run-chosen",
        "runs-go-on",
        "scenario-progress",
        "run-answer-document",
        "run-answer-contact",
        "docs-line",
        "docs-listed",
        "run-offer-line",
        "run-offers",
        "schedules-listed",
        "schedules-more",
        "schedules-restored",
        "schedule-line",
        *_ORDERS,
    }
)
"""Notices that get no warning sign."""
_LINES = MADE_CODES | {"made-more", "run-line", "schedule-line", "order-line", "docs-line", "run-offer-line"}
"""Lines that stand together like a list."""
_ENDING = "run-ended"
"""The next notice says why."""
_HOW = "report-how-"
_AS_THEY_ARE = ("ask-", "bulk-", _HOW)
"""Sentences of the tool agent, of a change of many records, and what a report has counted."""
_SIGNS = ("⚠️", "⛔")
"""Such a text has its sign already."""


def render_reply(reply: Reply, tr: Translator, *, first: int = MAX_ROWS) -> Spans:
    """Above `MAX_ROWS` only `first` rows. Empty if the reply says nothing."""
    blocks = [_render_part(part, reply, tr, first) for part in reply.parts]
    blocks.extend(
        build_spans(format_bold(tr.translate_notice(title)), "\n", render_table(table, tr, first=first, gap="\n"))
        for title, table in reply.sections
    )
    for is_made, group in groupby(reply.notices, lambda notice: notice.code in _LINES or notice.code.startswith(_HOW)):
        lines = [_render_notice(notice, reply, tr) for notice in group]
        blocks.extend([join_blocks(lines, "\n")] if is_made else lines)
    return join_blocks(blocks, "\n\n")


def _render_part(part: ReplyPart, reply: Reply, tr: Translator, first: int) -> Spans:
    match part:
        case Text():
            return render_markdown(part.text, locale=tr.locale, links=reply.links)
        case Passage():
            return render_passage(part)
        case ReportPart():
            return render_report_text(part.answer, tr)
        case SheetPart():  # a file, not a text
            return ()
        case DayPart():
            return render_daily(part.body, tr)
        case _:
            return render_table(part, tr, first=first)


def render_passage(passage: Passage) -> Spans:
    """Nothing in the quoted passage can be tapped."""
    lines = [Span(passage.title, "bold", is_foreign=True), Span(passage.source, is_foreign=True)]
    return join_blocks([build_spans(line) for line in (*lines, Span(passage.text, "quote", is_foreign=True)) if line.text], "\n")


def _render_notice(notice: Notice, reply: Reply, tr: Translator) -> Spans:
    if notice.code == "shadow-plan":
        lines = []
        for item in notice.args["items"]:
            then = f"{tr.translate('card-then')} " if item.get("follows") else ""
            planned_call = render_planned_call(Preview.model_validate(item["preview"]), str(item["method"]), tr)
            lines.append(build_spans("• ", then, planned_call))
        return build_spans(format_bold(tr.translate("shadow-plan")), "\n", join_blocks(lines, "\n"))
    if notice.code == "run-reminder":
        return _render_reminder(notice, tr)
    if notice.code == "made":
        before, name, after = tr.translate_notice(notice).partition(str(notice.args.get("name") or "\0"))
        return build_spans(before, Span(name, url=str(notice.args.get("url") or "")), after)
    if notice.code in _PLAIN or notice.code.startswith(_AS_THEY_ARE):
        return build_spans(tr.translate_notice(notice))
    words = tr.translate_notice(notice)
    alone = not reply.parts and (len(reply.notices) == 1 or reply.notices[0].code == _ENDING)
    return build_spans(words if alone or reply.choices or words.startswith(_SIGNS) else f"⚠️ {words}")


def _render_reminder(notice: Notice, tr: Translator) -> Spans:
    questions, calls = notice.args["questions"], notice.args["calls"]
    texts = [tr.translate_notice(Notice.model_validate(one["notice"])) if one["notice"] else str(one["text"]) for one in questions]
    lines = [build_spans("• ", text) for text in texts]
    lines += [build_spans("• ", render_heading(Preview.model_validate(call["preview"]), str(call["method"]), tr)) for call in calls]
    head = build_spans(format_bold(tr.translate("run-reminder", definition=notice.args["definition"])))
    return join_blocks([head, *lines, *([build_spans(tr.translate("run-reminder-cards"))] if calls else [])], "\n")


def render_planned_call(preview: Preview, method: str, tr: Translator) -> Spans:
    """In shadow mode the bot writes nothing."""
    changes = list_changes(preview)
    head = render_heading(preview, method, tr)
    commands = join_blocks(list_items(preview.items, {}, tr), "\n")
    return build_spans(head, f" — {changes}" if changes else "", "\n" if commands else "", commands)
