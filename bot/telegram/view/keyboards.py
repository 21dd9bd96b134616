"""Inline keyboards for each kind of outbox row. Pure.

A button that runs something dangerous never stands where the usual one does, and its second tap stands elsewhere than its first: a finger
that taps twice denies.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from aiogram.types import CopyTextButton, ForceReply, InlineKeyboardButton, InlineKeyboardMarkup

from bot.i18n.translate import Translator
from bot.rendering.cards import is_second_tap_due, is_waiting_for_lead
from bot.rendering.daily import build_reminder_buttons
from bot.rendering.record_changes import build_history_buttons
from bot.telegram.intake.callbacks import (
    ActionClick,
    ButtonClick,
    CardClick,
    CheckClick,
    ChoiceClick,
    DetailsClick,
    ExampleClick,
    StopClick,
    pack,
)
from bot.telegram.intake.people import build_people_keyboard
from bot.telegram.view.entities import is_blank, trim_text
from orchestrator.domain.outputs import Reply
from orchestrator.features.cards.resubmit import is_undo, may_repeat
from orchestrator.gate.approve.confirmations import calculate_second_nonce
from state.card import Card

Body = Mapping[str, Any]
Markup = InlineKeyboardMarkup | ForceReply
Buttons = list[list[InlineKeyboardButton]]

_UNKNOWN_OUTCOMES = frozenset({"outcome-unknown", "recovered-unclear", "recovered-partly"})
_PLACEHOLDER = 64
_ON_BUTTON = 60
_LONGEST_LABEL = 128


def build_keyboard(kind: str, body: Body, tr: Translator) -> Markup | None:
    """Return the buttons for a row of `kind`, None for kinds without any."""
    draw = _KEYBOARDS.get(kind)
    return draw(body, tr) if draw is not None else None


def build_reply_keyboard(reply: Reply, tr: Translator) -> InlineKeyboardMarkup | None:
    """Return the buttons of a reply: choices of a question, checks of unknown outcomes, actions, undo and example requests."""
    rows: Buttons = []
    for choice in reply.choices:
        question, _, option = choice.token.rpartition(":")
        rows.append([_build_button(choice.label, ChoiceClick(question_id=question, option=int(option)))])
    for notice in reply.notices:
        if notice.code in _UNKNOWN_OUTCOMES and notice.args.get("effect_id"):  # empty where a card already has the button
            rows.append([_build_button(tr.translate("button-check"), CheckClick(confirmation_id=str(notice.args["effect_id"])))])
    rows.extend([_build_button(tr.translate_notice(action.label), ActionClick(words=action.words))] for action in reply.actions)
    several = len(reply.undo) > 1
    for number, effect_id in enumerate(reply.undo, start=1):
        text = tr.translate("button-undo")
        rows.append([_build_button(f"{text} {number}" if several else text, ActionClick(words=("undo", effect_id)))])
    for example in reply.examples:
        rows.append([_build_button(tr.translate_notice(example), ExampleClick(code=example.code))])
    return _build_markup(rows)


def build_stop_keyboard(tr: Translator) -> InlineKeyboardMarkup:
    """Return the Stop button for a message that holds the place of an answer."""
    return InlineKeyboardMarkup(inline_keyboard=[[_build_button(tr.translate("button-stop"), StopClick())]])


def build_card_keyboard(body: Body, tr: Translator) -> InlineKeyboardMarkup | None:
    """Return the buttons of an open card, or the actions still possible on a decided one."""
    rows = _build_waiting_rows(body, tr) if body["status"] == "requested" else _build_settled_rows(body, tr)
    return _build_markup(rows)


def _build_waiting_rows(body: Body, tr: Translator) -> Buttons:
    confirmation_id = body["confirmation_id"]
    if not str(body.get("home") or "tg:").startswith("tg:"):  # click data can name Telegram chats only
        return _build_copy_rows(body, tr)
    no = _build_decision_button(body, tr.translate("button-deny"), approve=False)
    if body.get("home"):  # shown in a lead's chat; the card belongs to another session
        return [
            *_build_decision_rows(body, no, tr),
            [_build_deny_reason_button(body, tr)],
            [_build_remote_details_button(body, tr)],
            *_build_copy_rows(body, tr),
        ]
    details = _build_button(tr.translate("button-details"), DetailsClick(confirmation_id=confirmation_id))
    if is_waiting_for_lead(body):
        return [[_build_decision_button(body, tr.translate("button-withdraw"), approve=False), details], *_build_copy_rows(body, tr)]
    edit = [] if _is_fixed(body) else [_build_button(tr.translate("button-edit"), ActionClick(words=("edit", confirmation_id)))]
    return [*_build_decision_rows(body, no, tr), [*edit, details], *_build_copy_rows(body, tr)]


def _build_deny_reason_button(body: Body, tr: Translator) -> InlineKeyboardButton:
    """Build the button on a lead's copy that makes the lead's next message in this chat the reason of a refusal."""
    return _build_button(
        tr.translate("button-deny-why"), ActionClick(words=("why", body["confirmation_id"], body["nonce"], _format_origin(body)))
    )


def _build_remote_details_button(body: Body, tr: Translator) -> InlineKeyboardButton:
    """Build the details button of a lead's copy; it names the session of the card, where the call is known."""
    return _build_button(tr.translate("button-details"), ActionClick(words=("details", body["confirmation_id"], _format_origin(body))))


def _format_origin(body: Body) -> str:
    return str(body["home"]).removeprefix("tg:").replace(":", ".")


def _build_decision_rows(body: Body, no: InlineKeyboardButton, tr: Translator) -> Buttons:
    yes = _build_approve_button(body, tr)
    if is_second_tap_due(body):
        return [[no], [yes]]
    return [[no, yes]] if body.get("taps", 1) > 1 else [[yes, no]]


def _is_fixed(body: Body) -> bool:
    """Return whether the card has no single value that an answer could change."""
    preview = body.get("preview") or {}
    return bool(preview.get("items")) or not preview.get("lines") or is_undo(Card.from_stored(body))


def _build_settled_rows(body: Body, tr: Translator) -> Buttons:
    confirmation_id = body["confirmation_id"]
    if body.get("home"):  # what is left to do is done in the card's own chat
        return []
    if body["status"] == "unknown":
        return [[_build_button(tr.translate("button-check"), CheckClick(confirmation_id=confirmation_id))]]
    if body["status"] == "executed" and body.get("undo_until"):
        return [[_build_button(tr.translate("button-undo"), ActionClick(words=("undo", str(body["effect_id"]))))]]
    if may_repeat(Card.from_stored(body)):
        code = "button-ask-again" if body["status"] == "expired" else "button-repeat"
        return [[_build_button(tr.translate(code), ActionClick(words=("again", confirmation_id)))]]
    return []


def _build_copy_rows(body: Body, tr: Translator) -> Buttons:
    """Build the button that copies the record's number."""
    number = (body.get("preview") or {}).get("id")
    if not number:
        return []
    return [[InlineKeyboardButton(text=tr.translate("button-copy", number=str(number)), copy_text=CopyTextButton(text=str(number)))]]


def _build_approve_button(body: Body, tr: Translator) -> InlineKeyboardButton:
    dangerous = body.get("taps", 1) > 1
    second = is_second_tap_due(body)
    nonce = calculate_second_nonce(body["nonce"]) if second else body["nonce"]
    code = "button-sure" if second else "button-approve-danger" if dangerous else "button-approve"
    return _build_decision_button(body, tr.translate(code), approve=True, nonce=nonce, style="danger" if dangerous else "success")


def _build_decision_button(body: Body, text: str, *, approve: bool, nonce: str = "", style: str = "") -> InlineKeyboardButton:
    home = str(body.get("home") or body.get("topic") or "")
    press = CardClick(confirmation_id=body["confirmation_id"], nonce=nonce or body["nonce"], approve=approve, home=home)
    return _build_button(text, press, style)


def build_edit_keyboard(body: Body, tr: Translator) -> Markup | None:
    """Return the buttons for a question of a card edit: its fields, the possible meanings of an answer, or a prompt to reply."""
    confirmation_id = body["confirmation_id"]
    if body["what"] == "fields":
        rows = [
            [_build_button(_trim_label(f"{field['name']}: {field['value']}"), ActionClick(words=("field", confirmation_id, str(number))))]
            for number, field in enumerate(body["fields"])
        ]
        return _build_markup([*rows, [_build_leave_button(confirmation_id, tr)]])
    if body["what"] != "value":
        return None
    if body.get("options"):
        rows = [
            [_build_button(_trim_label(label), ActionClick(words=("pick", confirmation_id, str(body["ask"]), str(number))))]
            for number, label in enumerate(body["options"])
        ]
        return _build_markup([*rows, [_build_leave_button(confirmation_id, tr)]])
    if not body.get("private"):  # in a group a forced reply would prompt everybody; there the message explains how to answer
        return _build_markup([[_build_leave_button(confirmation_id, tr)]])
    return ForceReply(input_field_placeholder=tr.translate("edit-placeholder", field=body["name"])[:_PLACEHOLDER])


def _build_leave_button(confirmation_id: str, tr: Translator) -> InlineKeyboardButton:
    return _build_button(tr.translate("button-leave"), ActionClick(words=("noedit", confirmation_id)))


def _build_reminder_keyboard(body: Body, tr: Translator) -> InlineKeyboardMarkup | None:
    rows = build_reminder_buttons(body, tr)
    return _build_markup([[InlineKeyboardButton(text=button.text, callback_data=button.data) for button in line] for line in rows])


def _build_history_keyboard(body: Body, tr: Translator) -> InlineKeyboardMarkup | None:
    return _build_markup(
        [[_build_button(button.text, ActionClick(words=button.words)) for button in line] for line in build_history_buttons(body, tr)]
    )


def _build_reply_body_keyboard(body: Body, tr: Translator) -> InlineKeyboardMarkup | None:
    return build_reply_keyboard(Reply.model_validate(body), tr)


def _trim_label(text: str) -> str:
    return text if len(text) <= _ON_BUTTON else f"{text[: _ON_BUTTON - 1]}…"


def _build_button(text: str, press: ButtonClick, style: str = "") -> InlineKeyboardButton:
    return InlineKeyboardButton(text=format_label(text), callback_data=pack(press), style=style or None)


def format_label(text: str) -> str:
    """Return a button label: one line of bounded length, never blank, since Telegram would refuse the whole message."""
    line = trim_text(" ".join(text.split()), _LONGEST_LABEL)
    return "…" if is_blank(line) else line


def _build_markup(rows: Buttons) -> InlineKeyboardMarkup | None:
    return InlineKeyboardMarkup(inline_keyboard=rows) if rows else None


_KEYBOARDS: Final[Mapping[str, Callable[[Body, Translator], Markup | None]]] = {
    "reply": _build_reply_body_keyboard,
    "card": build_card_keyboard,
    "reminder": _build_reminder_keyboard,
    "people": build_people_keyboard,
    "edit": build_edit_keyboard,
    "history": _build_history_keyboard,
}
