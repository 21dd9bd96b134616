"""Buttons under what goes out, by its kind. Ring 3, pure.

A button that runs something dangerous never stands where the usual one does, and its second tap stands elsewhere than its first: a
finger that taps twice denies.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from aiogram.types import CopyTextButton, ForceReply, InlineKeyboardButton, InlineKeyboardMarkup

from bot.i18n.translate import Translator
from bot.rendering.cards import waits_for_lead, wants_second_tap
from bot.rendering.daily import reminder_buttons
from bot.rendering.history import history_buttons
from bot.telegram.callbacks import ActionPress, CardPress, CheckPress, ChoicePress, DetailsPress, ExamplePress, Press, StopPress, pack
from bot.telegram.people import people_keyboard
from bot.telegram.splitting import cut, is_blank
from orchestrator.cards.again import is_undo, may_repeat
from orchestrator.gate.confirmations import second_nonce
from orchestrator.messages import Reply

Body = Mapping[str, Any]
Markup = InlineKeyboardMarkup | ForceReply
Buttons = list[list[InlineKeyboardButton]]

_DOUBTFUL = frozenset({"outcome-unknown", "recovered-unclear", "recovered-partly"})
_PLACEHOLDER = 64
_ON_BUTTON = 60
_LONGEST_LABEL = 128


def keyboard_of(kind: str, body: Body, tr: Translator) -> Markup | None:
    """The buttons under a row of that kind, None for those without."""
    draw = _KEYBOARDS.get(kind)
    return draw(body, tr) if draw is not None else None


def reply_keyboard(reply: Reply, tr: Translator) -> InlineKeyboardMarkup | None:
    """Buttons under a reply: choices of a question, a look at a call of unknown outcome, taking a change back, or examples to send."""
    rows: Buttons = []
    for choice in reply.choices:
        question, _, option = choice.token.rpartition(":")
        rows.append([_button(choice.label, ChoicePress(question_id=question, option=int(option)))])
    for notice in reply.notices:
        if notice.code in _DOUBTFUL and notice.args.get("effect_id"):  # empty where a card has the button
            rows.append([_button(tr.say("button-check"), CheckPress(confirmation_id=str(notice.args["effect_id"])))])
    rows.extend([_button(tr.notice(action.label), ActionPress(words=action.words))] for action in reply.actions)
    several = len(reply.undo) > 1
    for number, effect_id in enumerate(reply.undo, start=1):
        text = tr.say("button-undo")
        rows.append([_button(f"{text} {number}" if several else text, ActionPress(words=("undo", effect_id)))])
    for example in reply.examples:
        rows.append([_button(tr.notice(example), ExamplePress(code=example.code))])
    return _markup(rows)


def stop_keyboard(tr: Translator) -> InlineKeyboardMarkup:
    """Under a message that stands in for an answer."""
    return InlineKeyboardMarkup(inline_keyboard=[[_button(tr.say("button-stop"), StopPress())]])


def card_keyboard(body: Body, tr: Translator) -> InlineKeyboardMarkup | None:
    """Buttons of a card that waits, and what may still be done with one that is settled."""
    rows = _waiting(body, tr) if body["status"] == "requested" else _settled(body, tr)
    return _markup(rows)


def _waiting(body: Body, tr: Translator) -> Buttons:
    confirmation_id = body["confirmation_id"]
    if not str(body.get("home") or "tg:").startswith("tg:"):  # a button leads to chats only
        return _copy(body, tr)
    no = _decision(body, tr.say("button-deny"), approve=False)
    if body.get("home"):  # in the chat of a lead: the card lives elsewhere
        return [*_deciding(body, no, tr), [_deny_why(body, tr)], [_details_there(body, tr)], *_copy(body, tr)]
    details = _button(tr.say("button-details"), DetailsPress(confirmation_id=confirmation_id))
    if waits_for_lead(body):
        return [[_decision(body, tr.say("button-withdraw"), approve=False), details], *_copy(body, tr)]
    edit = [] if _is_fixed(body) else [_button(tr.say("button-edit"), ActionPress(words=("edit", confirmation_id)))]
    return [*_deciding(body, no, tr), [*edit, details], *_copy(body, tr)]


def _deny_why(body: Body, tr: Translator) -> InlineKeyboardButton:
    """Of a lead's copy: the next message in this chat is the reason."""
    return _button(tr.say("button-deny-why"), ActionPress(words=("why", body["confirmation_id"], body["nonce"], _home(body))))


def _details_there(body: Body, tr: Translator) -> InlineKeyboardButton:
    """Of a lead's copy: the call is known where the card lives."""
    return _button(tr.say("button-details"), ActionPress(words=("details", body["confirmation_id"], _home(body))))


def _home(body: Body) -> str:
    return str(body["home"]).removeprefix("tg:").replace(":", ".")


def _deciding(body: Body, no: InlineKeyboardButton, tr: Translator) -> Buttons:
    yes = _approve_button(body, tr)
    if wants_second_tap(body):
        return [[no], [yes]]
    return [[no, yes]] if body.get("taps", 1) > 1 else [[yes, no]]


def _is_fixed(body: Body) -> bool:
    """Whether there is nothing on the card that one answer could change."""
    preview = body.get("preview") or {}
    return bool(preview.get("items")) or not preview.get("lines") or is_undo(body)


def _settled(body: Body, tr: Translator) -> Buttons:
    confirmation_id = body["confirmation_id"]
    if body.get("home"):  # what is left to do is done where the card lives
        return []
    if body["status"] == "unknown":
        return [[_button(tr.say("button-check"), CheckPress(confirmation_id=confirmation_id))]]
    if body["status"] == "executed" and body.get("undo_until"):
        return [[_button(tr.say("button-undo"), ActionPress(words=("undo", str(body["effect_id"]))))]]
    if may_repeat(body):
        code = "button-ask-again" if body["status"] == "expired" else "button-repeat"
        return [[_button(tr.say(code), ActionPress(words=("again", confirmation_id)))]]
    return []


def _copy(body: Body, tr: Translator) -> Buttons:
    """The number of the record, to be pasted elsewhere."""
    number = (body.get("preview") or {}).get("id")
    if not number:
        return []
    return [[InlineKeyboardButton(text=tr.say("button-copy", number=str(number)), copy_text=CopyTextButton(text=str(number)))]]


def _approve_button(body: Body, tr: Translator) -> InlineKeyboardButton:
    dangerous = body.get("taps", 1) > 1
    second = wants_second_tap(body)
    nonce = second_nonce(body["nonce"]) if second else body["nonce"]
    code = "button-sure" if second else "button-approve-danger" if dangerous else "button-approve"
    return _decision(body, tr.say(code), approve=True, nonce=nonce, style="danger" if dangerous else "success")


def _decision(body: Body, text: str, *, approve: bool, nonce: str = "", style: str = "") -> InlineKeyboardButton:
    home = str(body.get("home") or body.get("topic") or "")
    press = CardPress(confirmation_id=body["confirmation_id"], nonce=nonce or body["nonce"], approve=approve, home=home)
    return _button(text, press, style)


def edit_keyboard(body: Body, tr: Translator) -> Markup | None:
    """Under the questions of an edit: its fields, the meanings an answer may have, or the invitation to answer."""
    confirmation_id = body["confirmation_id"]
    if body["what"] == "fields":
        rows = [
            [_button(_short(f"{field['name']}: {field['value']}"), ActionPress(words=("field", confirmation_id, str(number))))]
            for number, field in enumerate(body["fields"])
        ]
        return _markup([*rows, [_leave(confirmation_id, tr)]])
    if body["what"] != "value":
        return None
    if body.get("options"):
        rows = [
            [_button(_short(label), ActionPress(words=("pick", confirmation_id, str(body["ask"]), str(number))))]
            for number, label in enumerate(body["options"])
        ]
        return _markup([*rows, [_leave(confirmation_id, tr)]])
    if not body.get("private"):  # in a group everybody would be asked; there the message says how to answer
        return _markup([[_leave(confirmation_id, tr)]])
    return ForceReply(input_field_placeholder=tr.say("edit-placeholder", field=body["name"])[:_PLACEHOLDER])


def _leave(confirmation_id: str, tr: Translator) -> InlineKeyboardButton:
    return _button(tr.say("button-leave"), ActionPress(words=("noedit", confirmation_id)))


def _reminder(body: Body, tr: Translator) -> InlineKeyboardMarkup | None:
    rows = reminder_buttons(body, tr)
    return _markup([[InlineKeyboardButton(text=button.text, callback_data=button.data) for button in line] for line in rows])


def _history(body: Body, tr: Translator) -> InlineKeyboardMarkup | None:
    return _markup([[_button(button.text, ActionPress(words=button.words)) for button in line] for line in history_buttons(body, tr)])


def _reply(body: Body, tr: Translator) -> InlineKeyboardMarkup | None:
    return reply_keyboard(Reply.model_validate(body), tr)


def _short(text: str) -> str:
    return text if len(text) <= _ON_BUTTON else f"{text[: _ON_BUTTON - 1]}…"


def _button(text: str, press: Press, style: str = "") -> InlineKeyboardButton:
    return InlineKeyboardButton(text=readable(text), callback_data=pack(press), style=style or None)


def readable(text: str) -> str:
    """Words on a button: one line of bounded length, and never none, for which Telegram would refuse the whole message."""
    line = cut(" ".join(text.split()), _LONGEST_LABEL)
    return "…" if is_blank(line) else line


def _markup(rows: Buttons) -> InlineKeyboardMarkup | None:
    return InlineKeyboardMarkup(inline_keyboard=rows) if rows else None


_KEYBOARDS: Final[Mapping[str, Callable[[Body, Translator], Markup | None]]] = {
    "reply": _reply,
    "card": card_keyboard,
    "reminder": _reminder,
    "people": people_keyboard,
    "edit": edit_keyboard,
    "history": _history,
}
