"""Renders cards in each state, and their details, from the stored call and never by the model. Pure.

A call is shortened to what one card has room for; its reader must open the rest (`CardView.awaits_opening`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from bot.i18n.translate import Translator
from bot.rendering.batches import list_commands, render_commands, render_failed_commands, render_records
from bot.rendering.card_reasons import evaluate_risk, list_reasons, render_reasons
from bot.rendering.headings import format_change, is_named_in_heading, list_changes, render_heading
from bot.rendering.spans import Span, Spans, Style, build_spans, format_bold, join_blocks
from orchestrator.domain.card_view import BULK_VERB, CARD_ROOM, CardView, Preview, PreviewLine, PreviewPart
from orchestrator.gate.call.escape_text import mark_cut
from orchestrator.gate.call.portal_errors import explain_portal_error
from orchestrator.gate.call.standing_orders import ADD as ORDER_ADD
from orchestrator.gate.call.targets import PRODUCT_ROW
from orchestrator.gate.preview.old_texts import shorten_line, shorten_preview
from orchestrator.language.text import Locale, format_number
from state.clock import parse_iso
from state.model.card import Card

_LONGEST_VALUES: Final = (2400, 1200, 600, 300, 150, 60)
"""Tried in this order until the changes fit."""


def fit_preview(preview: Preview, locale: Locale) -> tuple[Preview, int]:
    """And how many lines were left out."""
    for longest in _LONGEST_VALUES:
        short = preview.model_copy(update=_cut_part(preview, longest, locale))
        short = short.model_copy(update={"items": [item.model_copy(update=_cut_part(item, longest, locale)) for item in preview.items]})
        if short.measure_all() <= CARD_ROOM:
            return short, 0
    return _drop_lines(short)


def _cut_part(part: PreviewPart, longest: int, locale: Locale) -> dict[str, Sequence[PreviewLine]]:
    """The argument `update` of pydantic's `model_copy`."""
    return {"lines": [_cut_line(line, longest, locale) for line in part.lines]}


def _cut_line(line: PreviewLine, longest: int, locale: Locale) -> PreviewLine:
    return line.model_copy(update={"before": _cut_value(line.before, longest, locale), "after": _cut_value(line.after, longest, locale)})


def _cut_value(value: str, longest: int, locale: Locale) -> str:
    return value if len(value) <= longest else mark_cut(value[:longest], len(value) - longest, locale)


def _drop_lines(preview: Preview) -> tuple[Preview, int]:
    total = len(preview.lines) + sum(len(item.lines) for item in preview.items)
    room = CARD_ROOM - sum(item.model_copy(update={"lines": ()}).measure() for item in preview.items)
    count = 0
    for line in _walk_lines(preview):
        room -= line.measure()
        if room < 0:
            break
        count += 1
    left = count
    items = []
    for item in preview.items:
        items.append(item.model_copy(update={"lines": item.lines[:left]}))
        left = max(0, left - len(item.lines))
    return preview.model_copy(update={"lines": preview.lines[:count], "items": items}), total - count


def _walk_lines(preview: Preview) -> Iterator[PreviewLine]:
    yield from preview.lines
    for item in preview.items:
        yield from item.lines


OPEN_LINES = 10
"""Further changes stand in a folded block."""
LONG = 160
"""Characters; a longer change gets a block of its own."""
_SECONDS = 60
_UNDO = "undo:"
_UNDO_CODES = "undo-"


def render_card(view: CardView, tr: Translator) -> Spans:
    """An open card also says why and who asked, any other what came of it. The card says when changes are shortened."""
    shortened = shorten_preview(view.preview, tr.locale, is_done=view.card.status == "executed")
    preview, left_out = fit_preview(shortened, tr.locale) if view.is_cut else (shortened, 0)
    card_view = replace(view, preview=preview)
    changes = _render_lines(card_view) or join_blocks(render_commands(card_view, tr), "\n")
    if preview.verb == BULK_VERB:
        changes = join_blocks([changes, render_records(card_view, tr)], "\n\n")
    more = build_spans(tr.translate("card-more", count=left_out)) if left_out else ()
    blocks = [_render_head(view, tr), join_blocks([changes, more], "\n"), render_following(view.card, tr)]
    if view.card.is_waiting:
        if view.is_cut:
            code = "card-cut-opened" if view.opened else "card-bulk-cut" if preview.verb == BULK_VERB else "card-cut"
            blocks.append(format_bold(tr.translate(code)))
        blocks.extend(render_waiting(view, tr))
    else:
        blocks.append(render_state(view, tr))
    return join_blocks(blocks, "\n\n")


def describe_loss(line: PreviewLine, tr: Translator, *, is_done: bool) -> str:
    """«удалит 780 знаков: «История…»»; "" if no text is lost."""
    return shorten_line(line, tr.locale, is_done=is_done).before if line.lost else ""


def render_following(card: Card, tr: Translator) -> Spans:
    """None once the call has run: then each step has run or has a card."""
    if card.status not in {"requested", "approved"}:
        return ()
    lines = []
    code = "card-would-propose" if card.method == ORDER_ADD else "card-then"
    for preview in map(Preview.model_validate, card.next_steps):
        changes = list_changes(preview)
        spans = build_spans(tr.translate(code), " ", render_heading(preview, preview.method, tr), f" — {changes}" if changes else "")
        lines.append(spans)
    return join_blocks(lines, "\n")


def _render_head(view: CardView, tr: Translator) -> Spans:
    preview = view.preview
    head = format_bold(render_heading(preview, view.card.method, tr))
    if is_undo(view.card) and preview.verb != BULK_VERB:
        head = build_spans(format_bold(tr.translate("card-undo")), "\n", head)
    if not preview.items or not preview.sum:
        return head
    return build_spans(head, "\n", format_bold(tr.translate("card-sum", sum=preview.sum)))


def render_waiting(view: CardView, tr: Translator, *, reasons: Sequence[str] | None = None) -> Iterator[Spans]:
    """Reasons, risk, safety mode, who asked and until when."""
    card, mode = view.card, view.preview.mode
    risk = evaluate_risk(view)
    badge = tr.translate("card-risk", level=risk)
    why = ". ".join(list_reasons(view, tr) if reasons is None else reasons)
    if why or (view.reasons and risk != "low"):
        yield build_spans(badge, " ", Span(why, "italic")) if why else build_spans(badge)
    if mode in {"canary", "shadow"}:
        yield build_spans(tr.translate("card-mode", mode=mode))
    until = tr.format_time(card.expires_at)
    if view.is_waiting_for_lead:
        yield format_bold(tr.translate("card-waits-for-lead", who=", ".join(card.told_names), until=until))
    else:
        yield build_spans(tr.translate("card-asked-by", who=card.requested_by_name, until=until))
    if view.is_second_tap_due:
        yield format_bold(tr.translate("card-sure" if "D" in card.call_class else "card-sure-twice"))


def _render_lines(view: CardView) -> Spans:
    """The rest can be opened; it is not folded if a text leaves the company."""
    lines = [line for line in view.preview.lines if not is_named_in_heading(line, view.preview)]
    block: Style = "block" if "N" in view.card.call_class else "quote"
    folded = "\n".join(f"{line.name}: {format_change(line)}" for line in lines[OPEN_LINES:])
    return join_blocks([*(_render_line(line, block) for line in lines[:OPEN_LINES]), build_spans(Span(folded, block))], "\n")


def _render_line(line: PreviewLine, block: Style) -> Spans:
    """A long change is a quote in style `block`."""
    if "\n" in line.before or "\n" in line.after:
        return build_spans(f"{line.name}:", *(f"\n{text}" for text in _list_elements(line.before)), _render_elements(line))
    if len(line.before) + len(line.after) > LONG:
        return build_spans(f"{line.name}:\n", Span(format_change(line), block))
    return build_spans(f"{line.name}: {f'{line.before} → ' if line.before else ''}", format_bold(line.after))


def _render_elements(line: PreviewLine) -> Spans:
    sign = "→" if line.before else "•"
    return build_spans(*(build_spans(f"\n{sign} ", format_bold(text)) for text in _list_elements(line.after)))


def _list_elements(value: str) -> list[str]:
    return value.split("\n") if value else []


def render_state(view: CardView, tr: Translator) -> Spans:
    card = view.card
    who, at = card.approved_by_name or card.denied_by_name, card.find_time(card.status)
    match str(card.status):
        case "approved":
            return format_bold(tr.translate("card-running", who=who))
        case "denied":
            # a requester who also decides declines the card instead
            own = card.told_names and card.denied_by == card.requested_by
            spans = format_bold(tr.translate("card-withdrawn" if own else "card-denied-by", who=who, at=at))
            why = f"\n{tr.translate('card-denied-why')} "
            return build_spans(spans, why, Span(card.reason, "italic")) if card.reason else spans
        case "refused":
            if view.commands and not is_undo(card):
                lines = [build_spans(line) for line in render_failed_commands(view, tr)]
                return join_blocks([format_bold(tr.translate("card-all-failed", count=len(view.commands))), *lines], "\n")
            return format_bold(_render_refusal(card, tr))
        case "expired":
            ended = min(at, card.expires_at or at, key=parse_iso)  # the program may have stood still when the time was over
            return format_bold(tr.translate("card-expired-at", at=ended))
        case "superseded":
            return format_bold(_render_replacement(card, tr))
        case "elsewhere":  # a copy of the card: others decide now
            return format_bold(tr.translate("card-elsewhere", who=", ".join(card.told_names)))
        case "unknown" if view.commands:
            return format_bold(_render_partial_outcome(view, tr))
        case "unknown":
            return format_bold(tr.translate("card-unknown", method=card.method))
        case _:
            return _render_executed(view, tr, who, at)


def _render_replacement(card: Card, tr: Translator) -> str:
    if card.why == "edited":
        return tr.translate("card-superseded-edited")
    if card.why == "drawn-anew":
        return tr.translate("card-superseded-why", why=tr.translate(card.why))
    if "changes" in card.args:
        return tr.translate("card-superseded-why", why=tr.translate("changed-values", **card.args))
    return tr.translate("card-superseded-by")


def _render_refusal(card: Card, tr: Translator) -> str:
    undo = is_undo(card)
    if not card.code:  # not refused: a look at the portal showed that it did not happen
        return tr.translate("card-undo-not-done" if undo else "card-not-done", method=card.method)
    known = explain_refusal(card, tr)
    if card.code.startswith(_UNDO_CODES):  # the sentence is complete by itself
        return f"⚠️ {known}"
    return tr.translate("card-undo-refused" if undo else "card-refused", text=known)


def explain_refusal(card: Card, tr: Translator) -> str:
    """The program's reason, or the meaning of the portal's error."""
    if tr.has_message(card.code):
        return tr.translate(card.code, **card.args)
    notice = explain_portal_error(card.detail, code=card.code, method=card.method, reference=card.effect_id[:8])
    return tr.translate("portal-refused", text=tr.translate_notice(notice))


def is_undo(card: Card) -> bool:
    return card.slot.startswith(_UNDO)


def _render_executed(view: CardView, tr: Translator, who: str, at: str) -> Spans:
    commands = view.commands
    if view.preview.verb == BULK_VERB:  # what came of it the run tells
        return format_bold(tr.translate("card-begun", who=who, at=at))
    failed = [report for report in commands if report.status != "success"]
    if any(report.status == "unknown" for report in commands):
        decided = build_spans(tr.translate("card-decided", who=who, at=at))
        return join_blocks(
            [format_bold(_render_partial_outcome(view, tr)), decided, *(build_spans(line) for line in render_failed_commands(view, tr))],
            "\n",
        )
    if failed:
        partly = tr.translate("card-partly", failed=len(failed), count=len(commands), who=who, at=at)
        return join_blocks([format_bold(partly), *(build_spans(line) for line in render_failed_commands(view, tr))], "\n")
    done = tr.translate("card-executed", who=who, at=at, took=_format_duration(view.card, tr))
    left_out = [format_bold(line) for line in _render_unwritten_fields(view, tr)]
    return join_blocks([format_bold(done), _render_created_record(view, tr), *left_out, _render_undo(view, tr)], "\n")


def _render_partial_outcome(view: CardView, tr: Translator) -> str:
    statuses = [report.status for report in view.commands]
    failed = statuses.count("error") + statuses.count("not_run")
    unknown = statuses.count("unknown")
    return tr.translate("card-partly-known", done=statuses.count("success"), count=len(statuses), failed=failed, unknown=unknown)


def _render_undo(view: CardView, tr: Translator) -> Spans:
    """Or when and by whom it was undone."""
    card = view.card
    if card.undone_at:
        return format_bold(tr.translate("card-undone", at=card.undone_at, who=card.undone_by))
    return () if view.is_copy else build_spans(format_undo_offer(card, tr))  # a lead's copy has no undo button


def format_undo_offer(card: Card, tr: Translator) -> str:
    """ "" if it cannot be undone."""
    if not card.undo_until or card.undone_at:
        return ""
    return tr.translate("card-undo-ask-until" if card.undo_by_lead else "card-undo-until", until=tr.format_time(card.undo_until))


def render_outcome_details(view: CardView, tr: Translator) -> Spans:
    if view.card.status != "executed":
        return ()
    left_out = [format_bold(line) for line in _render_unwritten_fields(view, tr)]
    failed = [build_spans(line) for line in render_failed_commands(view, tr)]
    return join_blocks([_render_created_record(view, tr), *left_out, *failed], "\n")


def _format_duration(card: Card, tr: Translator) -> str:
    """ "" from one minute on: the program may have been restarted."""
    begun, over = card.approved_at, card.executed_at
    seconds = (parse_iso(over) - parse_iso(begun)).total_seconds() if begun and over else -1.0
    if not 0 <= seconds < _SECONDS:
        return ""
    number = f"{max(seconds, 0.1):.1f}"
    return tr.translate("card-took", seconds=number.replace(".", ",") if tr.locale == "ru" else number)


def _render_created_record(view: CardView, tr: Translator) -> Spans:
    """«Сделка №482»; empty if the heading has the link."""
    preview = view.preview
    kind, _, created = view.card.created.rpartition(":")
    if (not created and preview.title and preview.url) or kind == PRODUCT_ROW:  # a row of a record has no number for people
        return ()
    number = created or str(preview.id or "")
    url = preview.made_url.replace("{id}", created) if created else preview.url
    return (
        build_spans(Span(tr.translate("card-number", number=number, entity=kind.partition(":")[0] or preview.entity), url=url))
        if number
        else ()
    )


def _render_unwritten_fields(view: CardView, tr: Translator) -> Iterator[str]:
    added: list[str] = []
    unchanged: list[str] = []
    others: list[str] = []
    for code in view.card.unchanged:
        key, _, field = code.rpartition(": ")
        item = next((item for item in view.preview.items if key and item.key == key), view.preview)
        known = {line.field: line.name for line in item.lines}
        name = known.get(field) or code
        if code in view.card.now:
            others.append(f"{name}: {view.card.now[code]}")
        else:
            (added if item.verb == "add" else unchanged).append(name)
    if others:
        yield tr.translate("changed-otherwise", values="; ".join(others), left=False)
    if added:
        yield tr.translate("not-taken", field=added[0], more=len(added) - 1)
    if unchanged:
        yield tr.translate("card-unchanged", fields=", ".join(unchanged))


def render_details(view: CardView, tr: Translator) -> Spans:
    preview, card = view.preview, view.card
    if preview.verb == BULK_VERB:  # its file beside it has every record
        return build_spans(format_bold(render_heading(preview, card.method, tr)), "\n", tr.translate("card-bulk-file"))
    number = f" {format_number(preview.id, tr.locale)}" if preview.id else ""
    head = format_bold(build_spans(render_heading(preview, card.method, tr), number))
    values = render_changes(view, tr)
    total = build_spans(tr.translate("card-sum", sum=preview.sum)) if preview.sum else ()
    spans = build_spans(tr.translate("details-asked", who=card.requested_by_name))
    return join_blocks([head, total, values, render_reasons(view, tr), spans], "\n\n")


def render_changes(view: CardView, tr: Translator) -> Spans:
    lines = [_render_line(line, "block") for line in view.preview.lines]
    return join_blocks(lines or list_commands(view, tr), "\n")
