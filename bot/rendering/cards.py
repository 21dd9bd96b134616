"""Renders the confirmation card in each of its states, and its details view, from the stored request and never from the model. Pure.

The body is what `outbox.build_card_row` keeps of a confirmation, and optionally `home` (the card belongs to that session and is shown to a
lead), `told_names` (the leads who were asked), `created` ("deal:481"), `undo_until`, or `undone_at` and `undone_by`. Raw calls are shown to
admins only.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bot.i18n.translate import Translator
from bot.rendering.batches import MAX_ITEMS, render_commands, render_failed_commands
from bot.rendering.replies import render_heading
from bot.rendering.spans import Span, Spans, build_spans, format_bold, join_blocks
from state.clock import parse_iso

__all__ = ["MAX_ITEMS", "MAX_LINES", "OPEN_LINES", "is_second_tap_due", "is_waiting_for_lead", "render_card"]

Body = Mapping[str, Any]

OPEN_LINES = 10
"""Changes shown openly; further ones are folded."""
MAX_LINES = 40
LONG = 160
"""Length in characters above which a change gets a folded block of its own."""
_SECONDS = 60
_SUM_REASONS = frozenset({"gate-sum-jump", "gate-sum-lost", "gate-sum-steps"})
"""Reasons that already say that the field changes."""
_MONEY_AND_PEOPLE = frozenset({
    "OPPORTUNITY", "CURRENCY_ID", "TAX_VALUE", "PRICE", "IS_MANUAL_OPPORTUNITY",
    "ASSIGNED_BY_ID", "RESPONSIBLE_ID", "CREATED_BY", "ACCOMPLICES", "AUDITORS", "OBSERVERS",
})  # fmt: skip
"""Fields whose reasons mark a change as one of money or of other people."""
_UNDO = "undo:"
_UNDO_CODES = "undo-"
"""Prefix of the codes that explain why nothing was undone."""
_OWN_ORIGINS = ("edit:", "again:", _UNDO)
"""Prefixes of the slots of requests made with a button: there "the model asks for confirmation" is no reason worth showing."""


def render_card(body: Body, tr: Translator) -> Spans:
    """Return the card: what the call does, before → after, why it asks, who asked, and its state."""
    preview = body.get("preview") or {}
    blocks = [_render_head(preview, body, tr)]
    changes = _render_lines(preview, tr) or join_blocks(render_commands(preview, body, tr), "\n")
    if changes:
        blocks.append(changes)
    if body["status"] == "requested":
        blocks.extend(_render_waiting(body, tr))
    else:
        blocks.append(_render_state(body, tr))
    return join_blocks(blocks, "\n\n")


def is_waiting_for_lead(body: Body) -> bool:
    """Return whether somebody other than the reader decides: the requester sees the card of a call that a lead must approve."""
    return bool(body.get("told_names")) and not body.get("home")


def is_second_tap_due(body: Body) -> bool:
    """Return whether the first of two taps was made."""
    return body.get("stage") == 2  # noqa: PLR2004 - the second of two taps


def _render_head(preview: Body, body: Body, tr: Translator) -> Spans:
    head = format_bold(render_heading(preview, body["method"], tr))
    if _is_undo(body):
        head = build_spans(format_bold(tr.translate("card-undo")), "\n", head)
    if not preview.get("items") or not preview.get("sum"):
        return head
    return build_spans(head, "\n", format_bold(tr.translate("card-sum", sum=preview["sum"])))


def _render_waiting(body: Body, tr: Translator) -> Iterator[Spans]:
    """Yield the reasons, the mode, who is asked and until when."""
    reasons = _render_reasons(body, tr)
    badge = tr.translate("card-risk", level=_evaluate_risk(body))
    if reasons:
        yield build_spans(badge, " ", Span(". ".join(reasons), "italic"))
    if (preview := body.get("preview") or {}).get("mode") in {"canary", "shadow"}:
        yield build_spans(tr.translate("card-mode", mode=preview["mode"]))
    until = tr.format_time(body["expires_at"])
    if is_waiting_for_lead(body):
        yield format_bold(tr.translate("card-waits-for-lead", who=", ".join(body["told_names"]), until=until))
    else:
        yield build_spans(tr.translate("card-asked-by", who=body.get("requested_by_name", ""), until=until))
    if is_second_tap_due(body):
        yield format_bold(tr.translate("card-sure" if "D" in str(body.get("call_class") or "") else "card-sure-twice"))


def _evaluate_risk(body: Body) -> str:
    classes = set(str(body.get("call_class") or ""))
    if "D" in classes or body.get("taps", 1) > 1:
        return "high"
    fields = {str((reason.get("args") or {}).get("field") or "") for reason in body.get("reasons") or ()}
    touched = classes & {"C", "M", "N"} or fields & _MONEY_AND_PEOPLE
    return "mid" if touched or body.get("four_eyes") or body.get("lead") else "low"


def _render_reasons(body: Body, tr: Translator) -> list[str]:
    """Return the reasons why the card asks; one that applies to many commands of a batch is given once."""
    found: dict[str, list[str]] = {}
    sharp = {(reason.get("args") or {}).get("field") for reason in body.get("reasons") or () if reason["code"] in _SUM_REASONS}
    own = str(body.get("slot") or "").startswith(_OWN_ORIGINS)
    for reason in body.get("reasons") or ():
        if own and reason["code"] == "gate-model-asks":
            continue
        args = reason.get("args") or {}
        if reason["code"] == "gate-critical" and args.get("field") in sharp:
            continue
        code = str(args.get("reason") or reason["code"]) if reason["code"] == "gate-batch-asks" else reason["code"]
        text = tr.translate(code, **args)
        if text not in found.setdefault(code, []):
            found[code].append(text)
    return [texts[0] if len(texts) == 1 else tr.translate("reason-more", text=texts[0], count=len(texts) - 1) for texts in found.values()]


def _render_lines(preview: Body, tr: Translator) -> Spans:
    """Return the first changes openly, further ones folded, and the number of the rest."""
    lines = [line for line in preview.get("lines") or () if not _is_named_in_heading(line, preview)]
    if not lines:
        return ()
    folded = "\n".join(_render_flat_line(line) for line in lines[OPEN_LINES:MAX_LINES])
    more = tr.translate("card-more", count=len(lines) - MAX_LINES) if len(lines) > MAX_LINES else ""
    return join_blocks([*(_render_line(line) for line in lines[:OPEN_LINES]), build_spans(Span(folded, "quote")), build_spans(more)], "\n")


def _is_named_in_heading(line: Body, preview: Body) -> bool:
    """Return whether the heading already shows the change: the title of a record to be created."""
    return preview.get("verb") == "add" and str(line.get("field") or "").upper() == "TITLE" and line["after"] == preview.get("title")


def _render_line(line: Body) -> Spans:
    if len(str(line.get("before") or "")) + len(str(line["after"])) > LONG:
        return build_spans(f"{line['name']}:\n", Span(_format_change(line), "quote"))
    before = f"{line['before']} → " if line.get("before") else ""
    return build_spans(f"{line['name']}: {before}", format_bold(line["after"]))


def _render_flat_line(line: Body) -> str:
    return f"{line['name']}: {_format_change(line)}"


def _format_change(line: Body) -> str:
    return f"{line['before']} → {line['after']}" if line.get("before") else str(line["after"])


def _render_state(body: Body, tr: Translator) -> Spans:
    status = body["status"]
    who = body.get("approved_by_name") or body.get("denied_by_name") or ""
    at = body.get(f"{status}_at") or ""
    match status:
        case "approved":
            return format_bold(tr.translate("card-running", who=who))
        case "denied":
            reason = str(body.get("reason") or "")
            # a requester who also decides declines the card instead
            own = body.get("told_names") and body.get("denied_by") == body.get("requested_by")
            said = format_bold(tr.translate("card-withdrawn" if own else "card-denied-by", who=who, at=at))
            return build_spans(said, f"\n{tr.translate('card-denied-why')} ", Span(reason, "italic")) if reason else said
        case "refused":
            return format_bold(_render_refusal(body, tr))
        case "expired":
            return format_bold(tr.translate("card-expired-at", at=at))
        case "superseded":
            return format_bold(tr.translate("card-superseded-edited" if body.get("why") == "edited" else "card-superseded-by"))
        case "elsewhere":  # a copy of the card: others decide now
            return format_bold(tr.translate("card-elsewhere", who=", ".join(body.get("told_names") or ())))
        case "unknown" if body.get("commands"):
            return format_bold(_render_partial_outcome(body, tr))
        case "unknown":
            return format_bold(tr.translate("card-unknown"))
        case _:
            return _render_executed(body, tr, who, at)


def _render_refusal(body: Body, tr: Translator) -> str:
    """Render a refusal; used only where it is certain that nothing was changed."""
    code = str(body.get("code") or "")
    undo = _is_undo(body)
    if not code:  # not refused: a look at the portal showed that it did not happen
        return tr.translate("card-undo-not-done" if undo else "card-not-done")
    known = tr.translate(code, **(body.get("args") or {})) if tr.has_message(code) else str(body.get("detail") or "")
    if code.startswith(_UNDO_CODES):  # the sentence is complete by itself
        return f"⚠️ {known}"
    return tr.translate("card-undo-refused" if undo else "card-refused", text=known)


def _is_undo(body: Body) -> bool:
    return str(body.get("slot") or "").startswith(_UNDO)


def _render_executed(body: Body, tr: Translator, who: str, at: str) -> Spans:
    commands = body.get("commands") or []
    failed = [report for report in commands if report["status"] != "success"]
    if any(report["status"] == "unknown" for report in commands):
        decided = build_spans(tr.translate("card-decided", who=who, at=at))
        return join_blocks(
            [format_bold(_render_partial_outcome(body, tr)), decided, *(build_spans(line) for line in render_failed_commands(body, tr))],
            "\n",
        )
    if failed:
        partly = tr.translate("card-partly", failed=len(failed), count=len(commands), who=who, at=at)
        return join_blocks([format_bold(partly), *(build_spans(line) for line in render_failed_commands(body, tr))], "\n")
    done = tr.translate("card-executed", who=who, at=at, took=_format_duration(body, tr))
    preview = body.get("preview") or {}
    left_out = [format_bold(line) for line in _render_unwritten_fields(body.get("unchanged") or (), preview, tr)]
    return join_blocks([format_bold(done), _render_created_record(body, preview, tr), *left_out, _render_undo(body, tr)], "\n")


def _render_partial_outcome(body: Body, tr: Translator) -> str:
    """Return how many commands of a batch had which outcome; the marks show which ones."""
    found = Counter(report["status"] for report in body["commands"])
    failed = found["error"] + found["not_run"]
    return tr.translate("card-partly-known", done=found["success"], count=len(body["commands"]), failed=failed, unknown=found["unknown"])


def _render_undo(body: Body, tr: Translator) -> Spans:
    """Return until when the call can be undone, or that it was."""
    if body.get("undone_at"):
        return format_bold(tr.translate("card-undone", at=body["undone_at"], who=body.get("undone_by", "")))
    offered = body.get("undo_until") and not body.get("home")  # a lead's copy has no undo button
    return build_spans(tr.translate("card-undo-until", until=tr.format_time(body["undo_until"]))) if offered else ()


def _format_duration(body: Body, tr: Translator) -> str:
    """Return the time from the decision to the answer; "" where a restart lay between them."""
    begun, over = body.get("approved_at"), body.get("executed_at")
    seconds = (parse_iso(over) - parse_iso(begun)).total_seconds() if begun and over else -1.0
    if not 0 <= seconds < _SECONDS:
        return ""
    number = f"{max(seconds, 0.1):.1f}"
    return tr.translate("card-took", seconds=number.replace(".", ",") if tr.locale == "ru" else number)


def _render_created_record(body: Body, preview: Body, tr: Translator) -> Spans:
    """Return the number of the record with a link; nothing if the heading links to it already."""
    created = str(body.get("created") or "").rpartition(":")[2]
    if not created and preview.get("title") and preview.get("url"):
        return ()
    number, url = created or str(preview.get("id") or ""), str(preview.get("url") or "")
    if created:
        url = str(preview.get("made_url") or "").replace("{id}", created)
    return build_spans(Span(tr.translate("card-number", number=number), url=url)) if number else ()


def _render_unwritten_fields(written: Sequence[str], preview: Body, tr: Translator) -> Iterator[str]:
    """Yield the fields that the portal accepted but did not write: missing in a new record, unchanged in an existing one."""
    added: list[str] = []
    kept: list[str] = []
    for code in written:
        key, _, field = code.rpartition(": ")
        item = next((item for item in preview.get("items") or () if key and item.get("key") == key), preview)
        known = {line.get("field"): str(line["name"]) for line in item.get("lines") or ()}
        (added if item.get("verb") == "add" else kept).append(known.get(field) or code)
    if added:
        yield tr.translate("not-taken", field=added[0], more=len(added) - 1)
    if kept:
        yield tr.translate("card-unchanged", fields=", ".join(kept))


_DetailsBody = Mapping[str, Any]


def render_details(body: _DetailsBody, tr: Translator) -> Spans:
    """Return the details view («Подробнее»): the record, every value, and each reason in a line of its own; the body is that of a card."""
    preview: _DetailsBody = body.get("preview") or {}
    number = f" №{preview['id']}" if preview.get("id") else ""
    head = format_bold(build_spans(render_heading(preview, str(body["method"]), tr), number))
    lines = [build_spans(f"{line['name']}: ", _format_before(line), format_bold(str(line["after"]))) for line in preview.get("lines") or ()]
    values = join_blocks(lines or render_commands(preview, body, tr), "\n")
    total = build_spans(tr.translate("card-sum", sum=preview["sum"])) if preview.get("sum") else ()
    asked = build_spans(tr.translate("details-asked", who=str(body.get("requested_by_name") or "")))
    return join_blocks([head, total, values, _render_all_reasons(body, tr), asked], "\n\n")


def _format_before(line: _DetailsBody) -> str:
    return f"{line['before']} → " if line.get("before") else ""


def _render_all_reasons(body: _DetailsBody, tr: Translator) -> Spans:
    """Return each reason once; the texts of company rules are shown as written."""
    said = dict.fromkeys(tr.translate(reason["code"], **(reason.get("args") or {})) for reason in body.get("reasons") or ())
    if not said:
        return ()
    return build_spans(format_bold(tr.translate("details-why")), "\n", join_blocks([build_spans(f"• {text}") for text in said], "\n"))
