"""Buttons under replies and cards. Ring 3, pure."""

from collections.abc import Mapping
from typing import Any

from aiogram.types import InlineKeyboardButton, InlineKeyboardMarkup

from bot.i18n.translate import Translator
from bot.telegram.callbacks import CardPress, CheckPress, ChoicePress, DetailsPress, ExamplePress, pack
from orchestrator.gate.confirmations import second_nonce
from orchestrator.messages import Reply

_DOUBTFUL = frozenset({"outcome-unknown", "recovered-unclear"})


def reply_keyboard(reply: Reply, tr: Translator) -> InlineKeyboardMarkup | None:
    """Buttons under a reply: choices of a question, a look at a call of unknown outcome, or examples to send."""
    rows: list[list[InlineKeyboardButton]] = []
    for choice in reply.choices:
        question, _, option = choice.token.rpartition(":")
        data = pack(ChoicePress(question_id=question, option=int(option)))
        rows.append([InlineKeyboardButton(text=choice.label, callback_data=data)])
    for notice in reply.notices:
        if notice.code in _DOUBTFUL and notice.args.get("effect_id"):  # empty where a card has the button
            check = pack(CheckPress(confirmation_id=str(notice.args["effect_id"])))
            rows.append([InlineKeyboardButton(text=tr.say("button-check"), callback_data=check)])
    for example in reply.examples:
        data = pack(ExamplePress(code=example.code))
        rows.append([InlineKeyboardButton(text=tr.notice(example), callback_data=data)])
    return InlineKeyboardMarkup(inline_keyboard=rows) if rows else None


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
