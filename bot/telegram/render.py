"""Replies as Telegram text with entities: no text of a model or a customer can break the formatting. Ring 3, pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from aiogram.types import InlineKeyboardButton, InlineKeyboardMarkup
from aiogram.utils.formatting import Bold, TextLink
from aiogram.utils.formatting import Text as Rich

from bot.i18n.translate import Translator
from bot.telegram.callbacks import ChoicePress, ExamplePress, pack
from orchestrator.messages import Notice, Reply, Table, Text

MAX_ROWS = 30


def reply_text(reply: Reply, tr: Translator) -> Rich:
    """The whole reply as rich text; empty when there is nothing to say."""
    blocks: list[Rich] = []
    for part in reply.parts:
        blocks.append(Rich(part.text) if isinstance(part, Text) else table_text(part, tr))
    for heading, table in reply.sections:
        blocks.append(Rich(Bold(tr.notice(heading)), "\n", table_text(table, tr)))
    blocks.extend(_notice(notice, reply, tr) for notice in reply.notices)
    return joined(blocks, "\n\n")


def joined(blocks: Iterable[Rich], between: str) -> Rich:
    """`blocks` with `between` them."""
    parts: list[Any] = []
    for block in blocks:
        if parts:
            parts.append(between)
        parts.append(block)
    return Rich(*parts)


def table_text(table: Table, tr: Translator) -> Rich:
    """A list with links, and count and sum below."""
    if not table.rows:
        return Rich(tr.say("list-empty"))
    lines: list[Rich] = []
    for number, row in enumerate(table.rows[:MAX_ROWS], start=1):
        label = TextLink(row.label, url=row.url) if row.url else Rich(row.label)
        lines.append(Rich(f"{number}. ", label))
    shown = min(len(table.rows), MAX_ROWS)
    count = tr.say("list-total", shown=shown, total=table.total) if table.total > shown else tr.say("list-all", total=table.total)
    foot = f"{count}, {table.sum_text}" if table.sum_text else count
    return Rich(joined(lines, "\n"), "\n\n", Bold(foot))


def _notice(notice: Notice, reply: Reply, tr: Translator) -> Rich:
    if notice.code == "shadow-plan":
        lines = [Rich("• ", plan_line(item, tr)) for item in notice.args["items"]]
        return Rich(Bold(tr.say("shadow-plan")), "\n", joined(lines, "\n"))
    alone = not reply.parts and len(reply.notices) == 1
    return Rich(tr.notice(notice) if alone or reply.choices else f"⚠️ {tr.notice(notice)}")


def plan_line(item: Mapping[str, Any], tr: Translator) -> Rich:
    """One planned call as a person would say it."""
    preview = item.get("preview") or {}
    lines = [
        f"{line['name']}: {line['before']} → {line['after']}" if line.get("before") else f"{line['name']}: {line['after']}"
        for line in preview.get("lines", ())
    ]
    head = heading(preview, item["method"], tr)
    return Rich(head, " — ", "; ".join(lines)) if lines else Rich(head)


def heading(preview: Mapping[str, Any], method: str, tr: Translator) -> Rich:
    """What a call does and to what: «Изменить сделку «Ромашка»» with a link to the record."""
    if preview.get("items"):
        return Rich(tr.say("card-batch", count=preview.get("count") or len(preview["items"])))
    verb, entity = preview.get("verb", ""), preview.get("entity", "")
    code = f"verb-{verb}-{entity}"
    title = str(preview.get("title") or "")
    words = tr.say(code) if tr.knows(code) else tr.say("planned-other", method=method)
    if not title:
        return Rich(words)
    name = TextLink(title, url=preview["url"]) if preview.get("url") else Rich(title)
    return Rich(words, " ", name)


def keyboard(reply: Reply, tr: Translator) -> InlineKeyboardMarkup | None:
    """Buttons under a reply: choices of a question, or examples to send."""
    rows: list[list[InlineKeyboardButton]] = []
    for choice in reply.choices:
        question, _, option = choice.token.rpartition(":")
        data = pack(ChoicePress(question_id=question, option=int(option)))
        rows.append([InlineKeyboardButton(text=choice.label, callback_data=data)])
    for example in reply.examples:
        data = pack(ExamplePress(code=example.code))
        rows.append([InlineKeyboardButton(text=tr.notice(example), callback_data=data)])
    return InlineKeyboardMarkup(inline_keyboard=rows) if rows else None
