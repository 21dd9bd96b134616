"""Renders the replies of a turn (processing of a request) as text. Pure.

Only texts of the model are read as Markdown.
"""

import re

from bot.i18n.translate import Translator
from bot.rendering.markdown import render_markdown
from bot.rendering.spans import Span, Spans, build_spans, format_bold, format_title, join_blocks
from orchestrator.domain.card_view import Preview, PreviewLine, PreviewPart
from orchestrator.domain.outputs import Notice, Reply, Table, Text

MAX_ROWS = 30
_NUMBER = re.compile(r"№[0-9]+", re.ASCII)
"""What stands in place of a title that is not known; it gets no quotes."""
_PLAIN = frozenset(
    {
        "chosen",
        "which-deal",
        "which-lead",
        "which-contact",
        "which-company",
        "which-task",
        "which-user",
        "which-stage",
        "which-date",
        "nearest-record",
        "nearest-user",
        "nearest-stage",
        "nearest-category",
        "which-sum",
        "waiting-on-card",
        "duplicates-found",
        "duplicate-elsewhere",
        "duplicate-taken",
        "made-more",
        "only-own",
        "mode",
        "status",
        "budget-used",
        "stopping",
        "stop-queue",
    }
)
"""Codes of notices that are not warnings, so that no warning sign is put before them."""
_SIGNS = ("⚠️", "⛔")
"""A notice whose text begins with one of these has its warning sign already."""


def render_reply(reply: Reply, tr: Translator, *, first: int = MAX_ROWS) -> Spans:
    """Return the text of the whole reply; an empty text if it says nothing.

    Of a list with more than `MAX_ROWS` rows only the `first` ones are shown.
    """
    blocks = [
        render_markdown(part.text, locale=tr.locale, links=reply.links) if isinstance(part, Text) else render_table(part, tr, first=first)
        for part in reply.parts
    ]
    blocks.extend(
        build_spans(format_bold(tr.translate_notice(title)), "\n", render_table(table, tr, first=first, gap="\n"))
        for title, table in reply.sections
    )
    blocks.extend(_render_notice(notice, reply, tr) for notice in reply.notices)
    return join_blocks(blocks, "\n\n")


def render_table(table: Table, tr: Translator, *, first: int = MAX_ROWS, gap: str = "\n\n") -> Spans:
    """Return a numbered list of records with links, then `gap`, and a last line with their count and sum.

    An empty list becomes a sentence. Of a list with more than `MAX_ROWS` rows only the `first` ones are shown.
    """
    if not table.rows:
        return build_spans(tr.translate("list-empty"))
    shown = len(table.rows) if len(table.rows) <= MAX_ROWS else first
    lines: list[Spans] = []
    for number, row in enumerate(table.rows[:shown], start=1):
        title, dot, rest = row.label.partition(" · ")
        lines.append(build_spans(f"{number}. ", Span(title, url=row.url), dot + rest))
    code = ("list-total" if table.total > shown else "list-all") + ("-sum" if table.sum_text else "")
    foot = tr.translate(code, shown=shown, total=table.total, sum=table.sum_text)
    return build_spans(join_blocks(lines, "\n"), gap, format_bold(foot))


def _render_notice(notice: Notice, reply: Reply, tr: Translator) -> Spans:
    if notice.code == "shadow-plan":
        calls = [(Preview.model_validate(item["preview"]), str(item["method"])) for item in notice.args["items"]]
        lines = [build_spans("• ", render_planned_call(preview, method, tr)) for preview, method in calls]
        return build_spans(format_bold(tr.translate("shadow-plan")), "\n", join_blocks(lines, "\n"))
    if notice.code == "made":
        before, name, after = tr.translate_notice(notice).rpartition(str(notice.args.get("name") or "\0"))
        return build_spans(before, Span(name, url=str(notice.args.get("url") or "")), after)
    if notice.code in _PLAIN:
        return build_spans(tr.translate_notice(notice))
    said = tr.translate_notice(notice)
    alone = not reply.parts and len(reply.notices) == 1
    return build_spans(said if alone or reply.choices or said.startswith(_SIGNS) else f"⚠️ {said}")


def render_planned_call(preview: Preview, method: str, tr: Translator) -> Spans:
    """Return in words what a call would do. It is only planned, because the bot runs in shadow mode, in which nothing is written."""
    changes = "; ".join(f"{line.name}: {format_change(line)}" for line in preview.lines)
    head = render_heading(preview, method, tr)
    return build_spans(head, f" — {changes}") if changes else build_spans(head)


def format_change(line: PreviewLine, *, named: bool = False) -> str:
    """Return "old → new" in one line, or only the new value if there was none before; with `named` after the field's name."""
    before, after = (", ".join(value.split("\n")) for value in (line.before, line.after))
    change = f"{before} → {after}" if before else after
    return f"{line.name}: {change}" if named else change


def render_heading(preview: PreviewPart, method: str, tr: Translator) -> Spans:
    """Return what a call does and to which record, such as «Изменить сделку «Ромашка»», with a link to the record."""
    if isinstance(preview, Preview) and preview.items:
        return build_spans(tr.translate("card-batch", count=len(preview.items)))
    words = tr.describe_call(method, preview.verb, preview.entity) or tr.translate("planned-other", method=method)
    if not preview.title:
        return build_spans(words)
    title = preview.title if _NUMBER.fullmatch(preview.title) else format_title(preview.title)
    return build_spans(words, " ", Span(title, url=preview.url))
