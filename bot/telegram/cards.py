"""The card of a confirmation in each of its states (facts: telegram §5). Rendered from the stored request, never from the model. Ring 3."""

from collections.abc import Mapping
from typing import Any

from aiogram.types import InlineKeyboardButton, InlineKeyboardMarkup
from aiogram.utils.formatting import Bold, Italic
from aiogram.utils.formatting import Text as Rich

from bot.i18n.translate import Translator, as_notice
from bot.telegram.callbacks import CardPress, CheckPress, DetailsPress, pack
from bot.telegram.render import heading, joined
from orchestrator.gate.confirmations import second_nonce

MAX_ITEMS = 15
MAX_LINES = 12


def card_text(body: Mapping[str, Any], tr: Translator) -> Rich:
    """What the call does, before → after, why it asks, who asked, and how it stands."""
    preview = body.get("preview") or {}
    blocks = [Rich(Bold(heading(preview, body["method"], tr)))]
    changes = _lines(preview) or _items(preview, body, tr)
    if changes:
        blocks.append(joined(changes, "\n"))
    if body["status"] == "requested":
        reasons = [tr.notice(as_notice(reason)) for reason in body.get("reasons") or ()]
        if reasons:
            blocks.append(Rich(Italic("; ".join(reasons))))
        asked = tr.say("card-asked-by", who=body.get("requested_by_name", ""), until=tr.clock(body["expires_at"]))
        blocks.append(Rich(asked))
        if body.get("stage") == 2:  # noqa: PLR2004 - the second of two taps
            blocks.append(Rich(Bold(tr.say("card-sure"))))
    else:
        blocks.append(Rich(Bold(_state(body, tr))))
    return joined(blocks, "\n\n")


def _lines(preview: Mapping[str, Any]) -> list[Rich]:
    lines = [
        Rich(f"{line['name']}: {line['before']} → ", Bold(line["after"])) if line.get("before") else Rich(f"{line['name']}: ", Bold(line["after"]))
        for line in preview.get("lines") or ()
    ]
    return lines[:MAX_LINES]


def _items(preview: Mapping[str, Any], body: Mapping[str, Any], tr: Translator) -> list[Rich]:
    items = preview.get("items") or []
    reports = {report["key"]: report for report in body.get("commands") or ()}
    rows = []
    for number, item in enumerate(items[:MAX_ITEMS], start=1):
        changes = "; ".join(f"{line['name']}: {line['before'] or '—'} → {line['after']}" for line in item.get("lines") or ())
        mark = {"success": "✅ ", "error": "⚠️ ", "not_run": "⏸ ", "unknown": "❓ "}.get((reports.get(item.get("key")) or {}).get("status", ""), "")
        rows.append(Rich(f"{number}. {mark}", heading(item, item.get("method", ""), tr), f" — {changes}" if changes else ""))
    if len(items) > MAX_ITEMS:
        rows.append(Rich(tr.say("card-more", count=len(items) - MAX_ITEMS)))
    return rows


def _state(body: Mapping[str, Any], tr: Translator) -> str:
    status = body["status"]
    who = body.get("approved_by_name") or body.get("denied_by_name") or ""
    at = body.get(f"{status}_at") or ""
    match status:
        case "approved":
            return tr.say("card-running", who=who)
        case "denied":
            return tr.say("card-denied-by", who=who, at=at)
        case "refused":
            return tr.say("card-refused", text=body.get("detail", ""))
        case "expired":
            return tr.say("card-expired-at", at=at)
        case "superseded":
            return tr.say("card-superseded-by")
        case "unknown":
            return tr.say("card-unknown")
        case _:
            return _executed(body, tr, who, at)


def _executed(body: Mapping[str, Any], tr: Translator, who: str, at: str) -> str:
    done = tr.say("card-executed", who=who, at=at)
    commands = body.get("commands") or []
    failed = [report for report in commands if report["status"] != "success"]
    return f"{done}\n{tr.say('card-partly', failed=len(failed), count=len(commands))}" if failed else done


def card_keyboard(body: Mapping[str, Any], tr: Translator) -> InlineKeyboardMarkup | None:
    """Buttons of a card that waits, or a look at an unknown outcome; none on one that is settled."""
    confirmation_id = body["confirmation_id"]
    if body["status"] == "unknown":
        check = InlineKeyboardButton(text=tr.say("button-check"), callback_data=pack(CheckPress(confirmation_id=confirmation_id)))
        return InlineKeyboardMarkup(inline_keyboard=[[check]])
    if body["status"] != "requested":
        return None
    yes = _approve_button(body, confirmation_id, tr)
    no = _button(tr.say("button-deny"), CardPress(confirmation_id=confirmation_id, nonce=body["nonce"], approve=False), "")
    details = _button(tr.say("button-details"), DetailsPress(confirmation_id=confirmation_id), "")
    dangerous = body.get("taps", 1) > 1
    first = [no, yes] if dangerous else [yes, no]  # a dangerous button never stands where the usual one does
    return InlineKeyboardMarkup(inline_keyboard=[first, [details]])


def _approve_button(body: Mapping[str, Any], confirmation_id: str, tr: Translator) -> InlineKeyboardButton:
    dangerous = body.get("taps", 1) > 1
    second = body.get("stage") == 2  # noqa: PLR2004 - the second of two taps
    nonce = second_nonce(body["nonce"]) if second else body["nonce"]
    code = "button-sure" if second else "button-approve-danger" if dangerous else "button-approve"
    press = CardPress(confirmation_id=confirmation_id, nonce=nonce, approve=True)
    return _button(tr.say(code), press, "danger" if dangerous else "success")


def _button(text: str, press: CardPress | DetailsPress, style: str) -> InlineKeyboardButton:
    return InlineKeyboardButton(text=text, callback_data=pack(press), style=style or None)
