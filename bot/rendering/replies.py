"""Replies as text for people; no text of a model or a customer is ever read as markup. Ring 3, pure."""

from collections.abc import Mapping
from typing import Any

from bot.i18n.translate import Translator
from bot.rendering.spans import Span, Spans, bold, joined, quoted, spans
from orchestrator.messages import Notice, Reply, Table, Text

MAX_ROWS = 30
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
"""Sentences that warn of nothing."""
_SIGNS = ("⚠️", "⛔")
"""A sentence that begins with one of these warns by itself."""


def reply_text(reply: Reply, tr: Translator, *, first: int = MAX_ROWS) -> Spans:
    """The whole reply, empty when there is nothing to say; of lists longer than `MAX_ROWS` the `first` rows."""
    blocks = [spans(part.text) if isinstance(part, Text) else table_text(part, tr, first=first) for part in reply.parts]
    blocks.extend(spans(bold(tr.notice(title)), "\n", table_text(table, tr, first=first, gap="\n")) for title, table in reply.sections)
    blocks.extend(_notice(notice, reply, tr) for notice in reply.notices)
    return joined(blocks, "\n\n")


def table_text(table: Table, tr: Translator, *, first: int = MAX_ROWS, gap: str = "\n\n") -> Spans:
    """A list with links, and count and sum below."""
    if not table.rows:
        return spans(tr.say("list-empty"))
    shown = len(table.rows) if len(table.rows) <= MAX_ROWS else first
    lines: list[Spans] = []
    for number, row in enumerate(table.rows[:shown], start=1):
        title, dot, rest = row.label.partition(" · ")
        lines.append(spans(f"{number}. ", Span(title, url=row.url), dot + rest))
    code = ("list-total" if table.total > shown else "list-all") + ("-sum" if table.sum_text else "")
    foot = tr.say(code, shown=shown, total=table.total, sum=table.sum_text)
    return spans(joined(lines, "\n"), gap, bold(foot))


def _notice(notice: Notice, reply: Reply, tr: Translator) -> Spans:
    if notice.code == "shadow-plan":
        lines = [spans("• ", plan_line(item, tr)) for item in notice.args["items"]]
        return spans(bold(tr.say("shadow-plan")), "\n", joined(lines, "\n"))
    if notice.code == "made":
        before, name, after = tr.notice(notice).rpartition(str(notice.args.get("name") or "\0"))
        return spans(before, Span(name, url=str(notice.args.get("url") or "")), after)
    if notice.code in _PLAIN:
        return spans(tr.notice(notice))
    said = tr.notice(notice)
    alone = not reply.parts and len(reply.notices) == 1
    return spans(said if alone or reply.choices or said.startswith(_SIGNS) else f"⚠️ {said}")


def plan_line(item: Mapping[str, Any], tr: Translator) -> Spans:
    """One planned call as a person would say it."""
    preview = item.get("preview") or {}
    lines = [
        f"{line['name']}: {line['before']} → {line['after']}" if line.get("before") else f"{line['name']}: {line['after']}"
        for line in preview.get("lines", ())
    ]
    head = heading(preview, item["method"], tr)
    return spans(head, " — ", "; ".join(lines)) if lines else spans(head)


def heading(preview: Mapping[str, Any], method: str, tr: Translator) -> Spans:
    """What a call does and to what: «Изменить сделку «Ромашка»» with a link to the record."""
    if preview.get("items"):
        return spans(tr.say("card-batch", count=preview.get("count") or len(preview["items"])))
    verb, entity = preview.get("verb", ""), preview.get("entity", "")
    code = f"verb-{verb}-{entity}"
    title = str(preview.get("title") or "")
    words = tr.say(code) if tr.knows(code) else tr.say("planned-other", method=method)
    if not title:
        return spans(words)
    return spans(words, " ", Span(quoted(title), url=str(preview.get("url") or "")))
