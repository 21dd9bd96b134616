"""«Подробнее» of a card in words: the record, every value, each reason in a line of its own. Ring 3, pure; raw calls are for admins."""

from collections.abc import Mapping
from typing import Any

from bot.i18n.translate import Translator
from bot.rendering.batches import items_of
from bot.rendering.replies import heading
from bot.rendering.spans import Spans, bold, joined, spans

Body = Mapping[str, Any]


def details_text(body: Body, tr: Translator) -> Spans:
    """A body of kind "details", which is that of a card."""
    preview: Body = body.get("preview") or {}
    number = f" №{preview['id']}" if preview.get("id") else ""
    head = bold(spans(heading(preview, str(body["method"]), tr), number))
    lines = [spans(f"{line['name']}: ", _before(line), bold(str(line["after"]))) for line in preview.get("lines") or ()]
    values = joined(lines or items_of(preview, body, tr), "\n")
    total = spans(tr.say("card-sum", sum=preview["sum"])) if preview.get("sum") else ()
    asked = spans(tr.say("details-asked", who=str(body.get("requested_by_name") or "")))
    return joined([head, total, values, _why(body, tr), asked], "\n\n")


def _before(line: Body) -> str:
    return f"{line['before']} → " if line.get("before") else ""


def _why(body: Body, tr: Translator) -> Spans:
    """Each reason once; rules of the company speak for themselves."""
    said = dict.fromkeys(tr.say(reason["code"], **(reason.get("args") or {})) for reason in body.get("reasons") or ())
    if not said:
        return ()
    return spans(bold(tr.say("details-why")), "\n", joined([spans(f"• {text}") for text in said], "\n"))
