"""Builds the buttons under a message, for each kind of outbox row. Pure.

The approve button of a dangerous call changes its place for each confirmation: a person who taps the same place twice denies the call.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from aiogram.types import CopyTextButton, ForceReply, InlineKeyboardButton, InlineKeyboardMarkup

from bot.i18n.translate import Translator
from bot.rendering.daily import build_reminder_buttons
from bot.rendering.pictures.drawing import has_picture
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
from orchestrator.domain.address import format_place, is_card_session
from orchestrator.domain.card_view import CardView
from orchestrator.domain.inputs import ADD_TO
from orchestrator.domain.message_views import EditBody
from orchestrator.domain.outputs import Notice, Reply, ReportPart
from orchestrator.features.cards.resubmit import is_undo, may_repeat
from orchestrator.features.leads.denial_reasons import PRESS as DENY_WITH_REASON
from orchestrator.features.numbers.feature import BACK, FILE, HOW, PICTURE, RECORDS, VARIANT
from orchestrator.features.numbers.feature import BUTTON as REPORT
from orchestrator.gate.approve.confirmations import calculate_second_nonce
from orchestrator.gate.preview.old_texts import may_keep
from orchestrator.runs.questions import BUTTON as RUN_BUTTON
from state.model.card import Card
from state.stored import JsonObject

Button = tuple[str, ButtonClick]
PER_LINE: Final = 2
"""Step buttons with words, side by side."""
MOST_IN_WORDS: Final = 4
"""With more steps the buttons are shorter."""
MOST_EDITED: Final = 15
"""With more steps they can only be left out by button: Telegram shows at most 100 buttons."""


def list_step_buttons(view: CardView, tr: Translator) -> Iterator[Sequence[Button]]:
    for number, card in view.steps:
        if card.is_waiting and _may_edit(card, view) and may_keep(CardView.from_card(card).preview):
            yield [(tr.translate("button-add-to-step", number=number), ActionClick(words=(ADD_TO, card.confirmation_id)))]
    buttons = [button for number, card in view.steps for button in _list_buttons(number, card, view, tr)]
    per_line = PER_LINE if _has_words(view) else 2 * PER_LINE
    for start in range(0, len(buttons), per_line):
        yield buttons[start : start + per_line]


def _has_words(view: CardView) -> bool:
    return not view.card.is_waiting or len(view.members) <= MOST_IN_WORDS


def _list_buttons(number: int, card: Card, view: CardView, tr: Translator) -> Iterator[Button]:
    if str(view.card.status) == "elsewhere":
        return
    short = "" if _has_words(view) else "-short"
    if card.is_waiting:
        if _may_edit(card, view):
            yield tr.translate(f"button-edit-step{short}", number=number), ActionClick(words=("edit", card.confirmation_id))
        if len([member for member in view.members if member.is_waiting]) > 1 and (not view.home or is_card_session(view.home)):
            press = CardClick(confirmation_id=card.confirmation_id, nonce=card.nonce, approve=False, home=view.home or view.topic)
            yield tr.translate(f"button-leave-out{short}", number=number), press
    elif view.home:  # what is left to do is done in the chat of the person who asked
        return
    elif card.status == "unknown":
        yield tr.translate("button-check-step", number=number), CheckClick(confirmation_id=card.confirmation_id)
    elif card.status == "executed" and card.undo_until:
        yield tr.translate("button-undo-step", number=number), ActionClick(words=("undo", card.effect_id))
    elif may_repeat(card):
        yield tr.translate("button-again-step", number=number), ActionClick(words=("again", card.confirmation_id))


def _may_edit(card: Card, view: CardView) -> bool:
    may_act = str(view.card.status) != "elsewhere" and not view.home and not view.is_waiting_for_lead
    return may_act and len(view.members) <= MOST_EDITED and not _is_fixed_step(card)


def _is_fixed_step(card: Card) -> bool:
    """A batch, an undo, or a card that shows no values."""
    view = CardView.from_card(card)
    return bool(view.preview.items) or not view.preview.lines or is_undo(card)


Markup = InlineKeyboardMarkup | ForceReply
Buttons = list[list[InlineKeyboardButton]]

_UNKNOWN_OUTCOMES = frozenset({"outcome-unknown", "recovered-unclear", "recovered-partly"})
_PLACEHOLDER = 64
_ON_BUTTON = 60
_MOST_VARIANTS = 6
_LONGEST_LABEL = 128


def build_keyboard(kind: str, body: JsonObject, tr: Translator) -> Markup | None:
    draw = _KEYBOARDS.get(kind)
    return draw(body, tr) if draw is not None else None


def build_reply_keyboard(reply: Reply, tr: Translator) -> InlineKeyboardMarkup | None:
    """Options of a question, checks of unknown outcomes, next steps of a feature, undoing and example requests."""
    rows: Buttons = []
    for choice in reply.choices:
        question, _, option = choice.token.rpartition(":")
        rows.append([_build_button(choice.label, ChoiceClick(question_id=question, option=int(option)))])
    for notice in reply.notices:
        effect_id = notice.args.get("effect_id")  # empty where a card already has the button
        if notice.code in _UNKNOWN_OUTCOMES and effect_id:
            rows.append([_build_button(tr.translate("button-check"), CheckClick(confirmation_id=str(effect_id)))])
    rows.extend([_build_button(tr.translate_notice(action.label), ActionClick(words=action.words))] for action in reply.actions)
    rows.extend(_build_undo_rows(reply, tr))
    for example in reply.examples:
        rows.append([_build_button(tr.translate_notice(example), ExampleClick(code=example.code))])
    return _build_markup(rows)


def build_report_keyboard(part: ReportPart, reply: Reply, tr: Translator) -> InlineKeyboardMarkup | None:
    """Reports that are one change away, two a row; the way back, the records, the file, how it was counted; then those of the reply."""
    presses = [(variant.label, f"{VARIANT}{number}") for number, variant in enumerate(part.answer.variants[:_MOST_VARIANTS])]
    if part.has_way_back:
        presses.append((tr.translate("report-button-back"), BACK))
    if part.is_text and has_picture(part.answer):
        presses.append((tr.translate("report-button-picture"), PICTURE))
    if part.answer.records:
        presses.append((tr.translate("report-button-list", of=str(part.answer.question.get("of") or "")), RECORDS))
    presses += [(tr.translate("report-button-file"), FILE), (tr.translate("report-button-how"), HOW)]
    buttons = [_build_button(trim_text(label, _ON_BUTTON), ActionClick(words=(REPORT, part.report_id, wish))) for label, wish in presses]
    rows = [buttons[start : start + PER_LINE] for start in range(0, len(buttons), PER_LINE)]
    others = build_reply_keyboard(reply, tr)
    return _build_markup([*rows, *(others.inline_keyboard if others else [])])


def _build_undo_rows(reply: Reply, tr: Translator) -> Buttons:
    """Each of several changes has a button that names the record, or says how many changes it undoes."""
    names: dict[str, list[str]] = {}
    for notice in reply.notices:
        if notice.code == "made":
            names.setdefault(str(notice.args["effect_id"]), []).append(_find_change_name(notice))
    several = sum(map(len, names.values())) > 1 or len(reply.undo) > 1
    rows: Buttons = []
    for number, effect_id in enumerate(reply.undo, start=1):
        own = names.get(effect_id, [])
        name = own[0] if len(own) == 1 else tr.translate("button-undo-several", count=len(own)) if own else ""
        text = tr.translate("button-undo-of", name=name) if several and name else tr.translate("button-undo")
        text = f"{text} {number}" if several and not name else text
        rows.append([_build_button(trim_text(text, _ON_BUTTON), ActionClick(words=("undo", effect_id)))])
    return rows


def _find_change_name(notice: Notice) -> str:
    """ "" if the record has neither title nor number."""
    title = str(notice.args.get("title") or "")
    return f"«{title}»" if title else str(notice.args.get("name") or "")


def build_stop_keyboard(tr: Translator) -> InlineKeyboardMarkup:
    return InlineKeyboardMarkup(inline_keyboard=[[_build_button(tr.translate("button-stop"), StopClick())]])


def build_card_keyboard(view: CardView, tr: Translator) -> InlineKeyboardMarkup | None:
    """A decided card has at most one button, for the next step: undo, repeat, or check the outcome."""
    if view.is_plan:
        return _build_markup(_build_plan_rows(view, tr))
    return _build_markup(_build_waiting_rows(view, tr) if view.card.is_waiting else _build_settled_rows(view, tr))


def _build_plan_rows(view: CardView, tr: Translator) -> Buttons:
    decides = [row for row in _build_waiting_rows(view, tr) if row] if view.card.is_waiting else []
    steps = [[_build_button(text, click) for text, click in row] for row in list_step_buttons(view, tr)]
    return [*decides, *steps]


def _build_waiting_rows(view: CardView, tr: Translator) -> Buttons:
    confirmation_id = view.card.confirmation_id
    if view.home and not is_card_session(view.home):  # click data can name Telegram chats and runs only
        return _build_copy_rows(view, tr)
    several = sum(card.is_waiting for card in view.members) > 1
    no = _build_decision_button(view, tr.translate("button-deny-all" if several else "button-deny"), approve=False)
    if view.hidden_waits:  # whoever does not see all that waits can neither approve nor deny it
        return [[_build_remote_details_button(view, tr)], *_build_copy_rows(view, tr)]
    if view.is_copy:  # shown in a lead's chat; the card belongs to another session
        return [
            *_build_decision_rows(view, no, tr),
            [_build_deny_reason_button(view, tr)],
            [_build_remote_details_button(view, tr)],
            *_build_copy_rows(view, tr),
        ]
    shows = _build_run_click(view, "details") if view.home else DetailsClick(confirmation_id=confirmation_id)
    details = _build_button(tr.translate("button-details"), shows)
    if view.is_waiting_for_lead:
        return [[_build_decision_button(view, tr.translate("button-withdraw"), approve=False), details], *_build_copy_rows(view, tr)]
    edit = [] if _is_fixed(view) else [_build_button(tr.translate("button-edit"), ActionClick(words=("edit", confirmation_id)))]
    adds = [] if _is_fixed(view) or view.is_plan or view.is_second_tap_due else _build_add_rows(view, tr)
    return [*adds, *_build_decision_rows(view, no, tr), [*edit, details], *_build_copy_rows(view, tr)]


def _build_add_rows(view: CardView, tr: Translator) -> Buttons:
    if not may_keep(view.preview):
        return []
    return [[_build_button(tr.translate("button-add-to"), ActionClick(words=(ADD_TO, view.card.confirmation_id)))]]


def _build_run_click(view: CardView, what: str) -> ActionClick:
    """`what` is "details", "check" or "undo"."""
    return ActionClick(words=(RUN_BUTTON, view.home.partition(":")[2], what, view.card.confirmation_id))


def _build_deny_reason_button(view: CardView, tr: Translator) -> InlineKeyboardButton:
    """After a click on it, the lead's next message is the reason of the denial."""
    words = (DENY_WITH_REASON, view.card.confirmation_id, view.card.nonce, format_place(view.home))
    return _build_button(tr.translate("button-deny-why"), ActionClick(words=words))


def _build_remote_details_button(view: CardView, tr: Translator) -> InlineKeyboardButton:
    """Names the session that the card belongs to: the call is stored there and not in the lead's session."""
    words = ("details", view.card.confirmation_id, format_place(view.home))
    return _build_button(tr.translate("button-details"), ActionClick(words=words))


def _build_decision_rows(view: CardView, no: InlineKeyboardButton, tr: Translator) -> Buttons:
    if view.awaits_opening:
        return [[no]]
    yes = _build_approve_button(view, tr)
    if view.is_second_tap_due:
        return [[no], [yes]]
    return [[no, yes]] if view.card.taps > 1 else [[yes, no]]


def _is_fixed(view: CardView) -> bool:
    """Of a batch, an undo or a run, or without values."""
    return bool(view.preview.items or view.home) or not view.preview.lines or is_undo(view.card)


def _build_settled_rows(view: CardView, tr: Translator) -> Buttons:
    card = view.card
    if view.is_copy:  # what is left to do is done in the card's own chat
        return []
    if card.status == "unknown":
        check = _build_run_click(view, "check") if view.home else CheckClick(confirmation_id=card.confirmation_id)
        return [[_build_button(tr.translate("button-check"), check)]]
    if card.status == "executed" and card.undo_until:
        code = "button-undo-ask" if card.undo_by_lead else "button-undo"
        undo = _build_run_click(view, "undo") if view.home else ActionClick(words=("undo", card.effect_id))
        return [[_build_button(tr.translate(code), undo)]]
    if may_repeat(card) and not view.home:  # a run goes on without the call; the run itself is started again
        code = "button-ask-again" if card.status == "expired" else "button-repeat"
        return [[_build_button(tr.translate(code), ActionClick(words=("again", card.confirmation_id)))]]
    return []


def _build_copy_rows(view: CardView, tr: Translator) -> Buttons:
    """Copies the record's number; empty if there is none yet."""
    number = view.preview.id
    if not number:
        return []
    return [[InlineKeyboardButton(text=tr.translate("button-copy", number=str(number)), copy_text=CopyTextButton(text=str(number)))]]


def _build_approve_button(view: CardView, tr: Translator) -> InlineKeyboardButton:
    dangerous = view.card.taps > 1
    second = view.is_second_tap_due
    nonce = calculate_second_nonce(view.card.nonce) if second else view.card.nonce
    code = "button-sure" if second else "button-approve-danger" if dangerous else "button-approve"
    waiting = sum(card.is_waiting for card in view.members)
    text = tr.translate("button-approve-all", count=waiting) if waiting > 1 and not second else tr.translate(code)
    return _build_decision_button(view, text, approve=True, nonce=nonce, style="danger" if dangerous else "success")


def _build_decision_button(view: CardView, text: str, *, approve: bool, nonce: str = "", style: str = "") -> InlineKeyboardButton:
    card = view.card
    press = CardClick(confirmation_id=card.confirmation_id, nonce=nonce or card.nonce, approve=approve, home=view.home or view.topic)
    return _build_button(text, press, style)


def build_edit_keyboard(body: JsonObject, tr: Translator) -> Markup | None:
    """The fields or values to choose; None if it is no question.

    For a typed value Telegram's prompt, but not in groups and after a value that was not understood.
    """
    edit = EditBody.model_validate(body)
    confirmation_id = edit.confirmation_id
    if edit.what == "fields":
        rows = [
            [
                _build_button(
                    trim_text(f"{field.name}: {field.value}", _ON_BUTTON), ActionClick(words=("field", confirmation_id, str(number)))
                )
            ]
            for number, field in enumerate(edit.fields)
        ]
        return _build_markup([*rows, [_build_leave_button(confirmation_id, tr)]])
    if edit.what != "value":
        return None
    if edit.options:
        buttons = [
            _build_button(trim_text(label, _ON_BUTTON), ActionClick(words=("pick", confirmation_id, str(edit.ask), str(number))))
            for number, label in enumerate(edit.options)
        ]
        rows = [buttons] if edit.field_kind == "flag" else [[button] for button in buttons]
        return _build_markup([*rows, [_build_leave_button(confirmation_id, tr)]])
    # In a group a forced reply would prompt everybody, and after an unreadable value it would hold the person to an answer.
    if not edit.private or edit.objection is not None:
        return _build_markup([[_build_leave_button(confirmation_id, tr)]])
    return ForceReply(input_field_placeholder=tr.translate("edit-placeholder", field=edit.name)[:_PLACEHOLDER])


def _build_leave_button(confirmation_id: str, tr: Translator) -> InlineKeyboardButton:
    return _build_button(tr.translate("button-leave"), ActionClick(words=("noedit", confirmation_id)))


def _build_reminder_keyboard(body: JsonObject, tr: Translator) -> InlineKeyboardMarkup | None:
    rows = build_reminder_buttons(body, tr)
    return _build_markup([[InlineKeyboardButton(text=button.text, callback_data=button.data) for button in line] for line in rows])


def _build_history_keyboard(body: JsonObject, tr: Translator) -> InlineKeyboardMarkup | None:
    return _build_markup(
        [[_build_button(button.text, ActionClick(words=button.words)) for button in line] for line in build_history_buttons(body, tr)]
    )


def _build_button(text: str, press: ButtonClick, style: str = "") -> InlineKeyboardButton:
    return InlineKeyboardButton(text=format_label(text), callback_data=pack(press), style=style or None)


def format_label(text: str) -> str:
    """One line; "…" if blank, because Telegram refuses empty labels."""
    line = trim_text(" ".join(text.split()), _LONGEST_LABEL)
    return "…" if is_blank(line) else line


def _build_markup(rows: Buttons) -> InlineKeyboardMarkup | None:
    return InlineKeyboardMarkup(inline_keyboard=rows) if rows else None


_KEYBOARDS: Final[Mapping[str, Callable[[JsonObject, Translator], Markup | None]]] = {
    "reply": lambda body, tr: build_reply_keyboard(Reply.model_validate(body), tr),
    "card": lambda body, tr: build_card_keyboard(CardView.from_body(body), tr),
    "reminder": _build_reminder_keyboard,
    "people": build_people_keyboard,
    "edit": build_edit_keyboard,
    "history": _build_history_keyboard,
}
