"""«Подробнее» of a card in words: the record, every value, each reason in a line of its own. Ring 3, pure; raw calls are for admins."""

from collections.abc import Mapping
from typing import Any

from bot.i18n.translate import Translator
from bot.rendering.batches import render_commands
from bot.rendering.replies import render_heading
from bot.rendering.spans import Spans, build_spans, format_bold, join_blocks

Body = Mapping[str, Any]


def render_details(body: Body, tr: Translator) -> Spans:
    """A body of kind "details", which is that of a card."""
    preview: Body = body.get("preview") or {}
    number = f" №{preview['id']}" if preview.get("id") else ""
    head = format_bold(build_spans(render_heading(preview, str(body["method"]), tr), number))
    lines = [build_spans(f"{line['name']}: ", _format_before(line), format_bold(str(line["after"]))) for line in preview.get("lines") or ()]
    values = join_blocks(lines or render_commands(preview, body, tr), "\n")
    total = build_spans(tr.translate("card-sum", sum=preview["sum"])) if preview.get("sum") else ()
    asked = build_spans(tr.translate("details-asked", who=str(body.get("requested_by_name") or "")))
    return join_blocks([head, total, values, _render_all_reasons(body, tr), asked], "\n\n")


def _format_before(line: Body) -> str:
    return f"{line['before']} → " if line.get("before") else ""


def _render_all_reasons(body: Body, tr: Translator) -> Spans:
    """Each reason once; rules of the company speak for themselves."""
    said = dict.fromkeys(tr.translate(reason["code"], **(reason.get("args") or {})) for reason in body.get("reasons") or ())
    if not said:
        return ()
    return build_spans(format_bold(tr.translate("details-why")), "\n", join_blocks([build_spans(f"• {text}") for text in said], "\n"))
