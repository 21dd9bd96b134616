"""The ✏ button of a confirmation card: the person changes one value of the proposed call before they approve or decline it.

The steps are: the person clicks, chooses the field, and sends the new value as a reply. The new value is read by code, without a language
model. A new request with it goes through the gate (which decides about each call) and gets its own card, which still needs approval. The
commit that shows the new card closes the old one as «заменено».
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bitrix.catalogue.catalogue import Catalogue
from bitrix.errors import BitrixError
from orchestrator.directory.answers import Ambiguous, Option, Resolution, Resolved, Unresolved
from orchestrator.directory.reference import Reference
from orchestrator.domain.actor import Actor
from orchestrator.domain.card_view import Preview
from orchestrator.domain.message_views import EditableField
from orchestrator.domain.outcome import Outcome, Pending
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.features.cards import open_cards
from orchestrator.features.cards.field_input import TEXTS, FieldContext, list_editable_fields, read_value, replace_value
from orchestrator.features.cards.resubmit import (
    OUTDATED,
    build_current_card,
    build_toast,
    describe_status,
    is_click,
    is_undo,
    read_word,
    submit_again,
)
from orchestrator.features.cards.value_options import list_options, load_call_fields, read_choice
from orchestrator.gate.approve import confirmations
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.fields import find_value
from orchestrator.gate.call.portal_errors import explain_portal_error
from orchestrator.gate.call.serialization import UndecodableCall, decode_call
from orchestrator.gate.preview.old_texts import may_keep_line
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.request_words import is_no_value, may_be_request, strip_value_words
from orchestrator.language.text import fold
from orchestrator.sessions import outbox
from orchestrator.sessions.input_filter import build_request_row
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from orchestrator.turns.turn import admit_actor
from state.clock import parse_iso
from state.events.cards import EditAsked, EditClosed, list_edits
from state.journal.store import EffectConflict, InboxRow, OutboxRow
from state.model.card import Card
from state.stored import JsonObject

ADD_TO: Final = "addto"
"""The word of the button that keeps an old text and adds the new one to it; the card's id follows."""
ANSWER: Final = "edit_value"
"""The kind of the input that is a reply to a question about a value: {confirmation_id, ask, text}."""
_MOST_OPTIONS: Final = 8
_NO_ANSWER: Final = Unresolved(notice=Notice(code="edit-empty"), detail="nothing was written")
_WORDS: Final = load_lexicon("answers")
_CANCEL: Final = frozenset(_WORDS.read_words("value", "keep"))
_NO: Final = frozenset(_WORDS.read_words("value", "no"))


@dataclass(frozen=True, kw_only=True)
class _EditableCard:
    """A confirmation card whose values can still be changed: the stored card, its call, and the fields that the person may change."""

    entry: Card
    call: Call
    fields: Sequence[EditableField]

    @property
    def id(self) -> str:
        """The id of the confirmation that the card asks for."""
        return self.entry.confirmation_id

    @property
    def lost_texts(self) -> Mapping[str, str]:
        """The texts that the call would replace by others, as they were when the card was shown: field code → text."""
        preview = Preview.model_validate(self.entry.preview or {})
        images = ((self.entry.before or {}).get(f"{kind}:{number}") for kind, number in self.call.targets)
        record = next((image for image in images if image), {})
        codes = {line.field: self.call.spec.stands_for.get(line.field, line.field) for line in preview.lines if may_keep_line(line)}
        held = {code: find_value(record, place, self.call.entity) for code, place in codes.items()}
        return {code: text for code, text in held.items() if isinstance(text, str)}

    def get_place(self, session: Session) -> FieldContext:
        """Return what is needed to read a new value: the card's call, its records as they were before the call, and the session's state."""
        return FieldContext(call=self.call, before=self.entry.before or {}, state=session.state)


class CardEditor:
    """Handles the button clicks and replies by which a person changes a value of a card, each in one commit.

    Every method may raise StoreError.
    """

    def __init__(self, catalogue: Catalogue, reference: Reference) -> None:
        """Keep the catalogue of methods and the reader of the portal's lists of fields, stages and people."""
        self._catalogue = catalogue
        self._reference = reference

    async def begin(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """Handle the click on "edit" (with the card's id): ask which field to change, or ask for the value if there is only one field."""
        actor = await admit_actor(row, session, tools)
        card = await self._find_card(read_word(row, 1), actor, session) if actor is not None else None
        if actor is None or isinstance(card, Notice) or card is None:
            await _report_objection(card, row, actor, session, tools)
            return
        if len(card.fields) == 1:
            await self._ask(card, card.fields[0], row, actor, session)
            return
        event = EditAsked(confirmation_id=card.id, by=actor.key, ask=_next_question_number(card, session), options=[])
        outbox_rows = [
            build_toast(row, Notice(code="toast-which-field"), session),
            open_cards.build_picker_row(session.key, card.id, card.fields, session.now),
        ]
        await session.commit(event, actor=actor.key, outbox=outbox_rows, inbox_done=[row.id])

    async def select_field(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """Handle the click on "field" (with the card's id and n): ask for the new value of the n-th editable field, counted from 0."""
        actor = await admit_actor(row, session, tools)
        card = await self._find_card(read_word(row, 1), actor, session) if actor is not None else None
        if actor is None or isinstance(card, Notice) or card is None:
            await _report_objection(card, row, actor, session, tools)
            return
        number = read_word(row, 2)
        if not number.isdecimal() or int(number) >= len(card.fields):
            await _report_objection(OUTDATED, row, actor, session, tools)
            return
        await self._ask(card, card.fields[int(number)], row, actor, session)

    async def cancel(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """Handle the click on "noedit" (with the card's id): end the edit without a change."""
        actor = await admit_actor(row, session, tools)
        if actor is None:
            return
        edit = list_edits(session.state).get(read_word(row, 1))
        if edit is None or edit.by != actor.key:
            await _report_objection(Notice(code="edit-over"), row, actor, session, tools)
            return
        await _cancel_edit(read_word(row, 1), row, actor, session)

    async def pick(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """Handle the click on "pick": use one of the values that were offered because the person's reply was ambiguous.

        The button holds the card's id, the number of the question and the number of the offered value, counted from 0.
        """
        actor = await admit_actor(row, session, tools)
        card = await self._find_card(read_word(row, 1), actor, session) if actor is not None else None
        if actor is None or isinstance(card, Notice) or card is None:
            await _report_objection(card, row, actor, session, tools)
            return
        edit = list_edits(session.state).get(card.id)
        ask, number = read_word(row, 2), read_word(row, 3)
        options = edit.options if edit is not None and edit.by == actor.key and ask == str(edit.ask) else []
        field = next((editable_field for editable_field in card.fields if edit is not None and editable_field.code == edit.code), None)
        if field is None or not number.isdecimal() or int(number) >= len(options):
            await _report_objection(Notice(code="edit-over"), row, actor, session, tools)
            return
        option = Option(**options[int(number)])
        await self._request_change(card, field, option.value, option.label, row=row, actor=actor, session=session, tools=tools)

    async def add_to_texts(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """Handle the click on `ADD_TO` (with the card's id): request the call with its texts added to those that it would replace."""
        actor = await admit_actor(row, session, tools)
        card = await self._find_card(read_word(row, 1), actor, session) if actor is not None else None
        if actor is None or isinstance(card, Notice) or card is None:
            await _report_objection(card, row, actor, session, tools)
            return
        added = [field for field in card.fields if field.code in card.lost_texts]
        if not added:
            await _report_objection(Notice(code="edit-not-here"), row, actor, session, tools)
            return
        params: JsonObject = card.call.params
        for field in added:
            params = replace_value(params, field.code, f"{card.lost_texts[field.code]}\n{card.call.written_fields[field.code]}")
        result = await submit_again(card.entry, params, f"edit:{row.id}", actor, session, tools)
        if isinstance(result, Pending) and result.confirmation_id != card.id:
            await _replace_card(card, result.confirmation_id, added[0], row=row, actor=actor, session=session)
            return
        objection = Notice(code="edit-same") if isinstance(result, Pending) else _find_reason(result)
        await _report_objection(objection, row, actor, session, tools)

    async def receive_answer(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """Handle the reply to a question for a value: read the value, and request the call again with it.

        If the value is invalid, explain why and ask again; if the reply reads as a request, pass it on to a turn instead.
        """
        actor = await admit_actor(row, session, tools)
        card = await self._find_card(str(row.body["confirmation_id"]), actor, session) if actor is not None else None
        if actor is None or isinstance(card, Notice) or card is None:
            await _report_objection(card, row, actor, session, tools)
            return
        edit = list_edits(session.state).get(card.id)
        field = next((editable_field for editable_field in card.fields if edit is not None and editable_field.code == edit.code), None)
        if edit is None or field is None or edit.by != actor.key or edit.ask != row.body["ask"]:
            await _report_objection(Notice(code="edit-over"), row, actor, session, tools)
            return
        words = str(row.body["text"]).strip()
        if _fold_answer(words) in _CANCEL:
            await _cancel_edit(card.id, row, actor, session)
            return
        if field.kind not in TEXTS and is_no_value(words):
            await _pass_on(row, actor, session)
        else:
            await self._take_value(words, card, field, row=row, actor=actor, session=session, tools=tools)

    async def _take_value(
        self, words: str, card: _EditableCard, field: EditableField, *, row: InboxRow, actor: Actor, session: Session, tools: Tools
    ) -> None:
        """Read the value in the person's `words` and request the change with it; if they contain none, do what they say instead."""
        try:
            found = await self._read(words, field, card.get_place(session), actor, tools) if words else _NO_ANSWER
        except BitrixError:
            found = Unresolved(notice=Notice(code="edit-not-read-now"), detail="the portal cannot be read")
        is_unread = _is_unread(found)
        if is_unread and _fold_answer(words) in _NO:  # no value is called so
            await _cancel_edit(card.id, row, actor, session)
            return
        if is_unread and may_be_request(words):
            await _pass_on(row, actor, session)
            return
        match found:
            case Resolved():
                await self._request_change(card, field, found.value, words, row=row, actor=actor, session=session, tools=tools)
            case Ambiguous():
                await self._ask(card, field, row, actor, session, objection=found.ask, options=found.options[:_MOST_OPTIONS])
            case Unresolved():
                await self._ask(card, field, row, actor, session, objection=found.notice)

    async def _read(self, words: str, field: EditableField, place: FieldContext, actor: Actor, tools: Tools) -> Resolution:
        """Read the person's text as the field's value; if it cannot be read, read it without the words that only lead to a value."""
        resolution = await self._read_exactly(words, field, place, actor, tools)
        bare = strip_value_words(words) if field.kind not in TEXTS and _is_unread(resolution) else words
        if bare == words:
            return resolution
        second = await self._read_exactly(bare, field, place, actor, tools)
        return resolution if _is_unread(second) else second

    async def _read_exactly(self, words: str, field: EditableField, place: FieldContext, actor: Actor, tools: Tools) -> Resolution:
        if field.kind == "choice":
            return await read_choice(words, field, place, self._reference)
        return await read_value(words, field, place, actor=actor, tools=tools)

    async def _request_change(  # noqa: PLR0913 - a card, what is new of it, and who works on it where
        self,
        card: _EditableCard,
        field: EditableField,
        value: object,
        said: str,
        *,
        row: InboxRow,
        actor: Actor,
        session: Session,
        tools: Tools,
    ) -> None:
        """Submit the request with the new value to the gate and show its card; if the gate refuses it, explain why and ask again.

        `said` is how the person gave the value: the text of the reply, or the label of the button.
        """
        params = replace_value(card.call.params, field.code, value)
        result = await submit_again(card.entry, params, f"edit:{row.id}", actor, session, tools, said=said)
        if isinstance(result, Pending) and result.confirmation_id == card.id:
            await self._ask(card, field, row, actor, session, objection=Notice(code="edit-same"))
        elif isinstance(result, Pending):
            await _replace_card(card, result.confirmation_id, field, row=row, actor=actor, session=session)
        else:
            await self._ask(card, field, row, actor, session, objection=_find_reason(result))

    async def _ask(
        self,
        card: _EditableCard,
        field: EditableField,
        row: InboxRow,
        actor: Actor,
        session: Session,
        *,
        objection: Notice | None = None,
        options: Sequence[Option] = (),
    ) -> None:
        """Ask for the new value of the field, in a new message, with a button for each value that can be chosen.

        `objection` says what was wrong with the last answer. The buttons show `options`, the values that this answer may have meant, or
        else the values that the field allows. The message is new because an edited one further up would be overlooked. Besides, Telegram
        cannot edit a message so that it opens the reply field of the person's client (force_reply).
        """
        ask = _next_question_number(card, session)
        options = options or await list_options(field, card.get_place(session), actor, self._reference)
        kept = [{"value": option.value, "label": option.label, "target": option.target} for option in options]
        event = EditAsked(confirmation_id=card.id, code=field.code, by=actor.key, ask=ask, options=kept)
        labels = [option.label for option in options]
        out = [open_cards.build_question_row(session.key, card.id, field, session.now, ask=ask, objection=objection, options=labels)]
        if is_click(row):
            out.insert(0, build_toast(row, objection or Notice(code="toast-new-value", args={"field": field.name}), session))
        if len(card.fields) > 1:
            out.insert(0, open_cards.build_picker_result_row(session.key, card.id, "edit-field", session.now, field=field.name))
        await session.commit(event, actor=actor.key, outbox=out, inbox_done=[row.id])

    async def _find_card(self, confirmation_id: str, actor: Actor | None, session: Session) -> "_EditableCard | Notice":
        """Return the card if this person can change it now; otherwise return the message that tells them why they cannot."""
        entry = session.state.cards.get(confirmation_id)
        if entry is None or actor is None:
            return OUTDATED
        if entry.status != "requested":
            return describe_status(entry)
        if parse_iso(entry.expires_at) <= session.now:
            return Notice(code="card-expired", args={"at": entry.expires_at})
        if entry.requested_by != actor.key:
            return Notice(code="edit-not-yours", args={"who": entry.requested_by_name})
        stored = await session.find_effect(entry.effect_id)
        try:
            call = decode_call(stored.call["call"], self._catalogue) if stored is not None else None
        except UndecodableCall:
            call = None
        fields = (
            list_editable_fields(call, Preview.model_validate(entry.preview or {}), await self._load_custom_types(call))
            if call is not None
            else []
        )
        if call is None or not fields or is_undo(entry):
            return Notice(code="edit-not-here")
        return _EditableCard(entry=entry, call=call, fields=fields)

    async def _load_custom_types(self, call: Call) -> Mapping[str, str]:
        """Return the portal's types of custom fields and of fields whose value is an entry of a list (crm_status): field code → type.

        Fields that hold several values are left out. If the portal cannot be read, the result is empty; such fields cannot be edited then.
        """
        listed = await load_call_fields(call, self._reference)
        return {code: field.type for code, field in listed.items() if (field.custom or field.type == "crm_status") and not field.multiple}


def _fold_answer(words: str) -> str:
    return fold(words).strip(" .!")


def _is_unread(resolution: Resolution) -> bool:
    return isinstance(resolution, Unresolved) or (isinstance(resolution, Ambiguous) and resolution.is_guess)


async def _pass_on(row: InboxRow, actor: Actor, session: Session) -> None:
    """Have a turn handle the reply as a request; the question stays open, so a later reply to it may still be the value."""
    await session.commit(actor=actor.key, inbox_new=[build_request_row(row)], inbox_done=[row.id])


def _find_reason(result: Outcome) -> Notice:
    if result.status == "planned":
        return Notice(code="shadow-now")
    if result.reason is not None:
        return result.reason
    notice = explain_portal_error(result.detail, method=result.method)
    return Notice(code="portal-refused", args={"text": notice.model_dump(mode="json")})


def _next_question_number(card: _EditableCard, session: Session) -> int:
    """Return the number of the next question about this card. Replies to questions with a lower number are no longer accepted."""
    edit = list_edits(session.state).get(card.id)
    return edit.ask + 1 if edit is not None else 1


async def _replace_card(card: _EditableCard, new_id: str, field: EditableField, *, row: InboxRow, actor: Actor, session: Session) -> None:
    """Close the old card and show the new one in one commit.

    If somebody has decided about the old card meanwhile, their decision stands, and the new card is closed instead.
    """
    entries, is_asked = session.state.cards, card.id in list_edits(session.state)
    closing = confirmations.build_superseded_closing(card.entry, why="edited", by=new_id)
    over = EditClosed(confirmation_id=card.id, how="replaced")
    old = card.entry.with_values(status="superseded", why="edited", by=new_id)
    out = [
        outbox.build_card_row(session.key, old, session.now),
        outbox.build_card_row(session.key, entries[new_id], session.now),
    ]
    out.extend(_build_closed_picker(card, session, "edit-done", field=field.name) if is_asked else ())
    if is_click(row):
        out.append(build_toast(row, Notice(code="toast-new-card"), session))
    timer = confirmations.drop_timer(card.entry, session)
    try:
        await session.commit(
            closing.event, over, actor=actor.key, effects=[closing.change], timers=[timer], outbox=out, inbox_done=[row.id]
        )
    except EffectConflict:
        await _drop_late_card(card, new_id, row=row, actor=actor, session=session)


async def _drop_late_card(card: _EditableCard, new_id: str, *, row: InboxRow, actor: Actor, session: Session) -> None:
    """Close the new card, which nobody has seen, because somebody decided about the old one while the new value was being read."""
    entries = session.state.cards
    now = entries.get(card.id) or card.entry
    notice = describe_status(now) if now.status != "requested" else OUTDATED
    new = confirmations.build_superseded_closing(entries[new_id], why="edited")
    over = EditClosed(confirmation_id=card.id, how="late")
    out = [
        outbox.build_reply_row(session.key, build_reply(notice), session.now),
        *(_build_closed_picker(card, session, "edit-over") if card.id in list_edits(session.state) else ()),
    ]
    if is_click(row):
        out.append(build_toast(row, notice, session))
    timer = confirmations.drop_timer(entries[new_id], session)
    await session.commit(new.event, over, actor=actor.key, effects=[new.change], timers=[timer], outbox=out, inbox_done=[row.id])


def _build_closed_picker(card: _EditableCard, session: Session, code: str, **args: str) -> list[OutboxRow]:
    return [open_cards.build_picker_result_row(session.key, card.id, code, session.now, **args)] if len(card.fields) > 1 else []


async def _cancel_edit(confirmation_id: str, row: InboxRow, actor: Actor, session: Session) -> None:
    """End the edit without a change; the card still waits for a decision.

    If the person cancelled with a typed reply, the card is shown again at the end of the chat.
    """
    entry = session.state.cards.get(confirmation_id)
    event = EditClosed(confirmation_id=confirmation_id, how="cancelled")
    out = [build_toast(row, Notice(code="edit-cancelled"), session)]
    if is_click(row):
        out.append(open_cards.build_picker_result_row(session.key, confirmation_id, "edit-cancelled", session.now))
    if entry is not None and entry.status == "requested" and not is_click(row):
        out.append(open_cards.build_fresh_card_row(session.key, entry, session.now))
    await session.commit(event, actor=actor.key, outbox=out, inbox_done=[row.id])


async def _report_objection(
    found: "_EditableCard | Notice | None", row: InboxRow, actor: Actor | None, session: Session, tools: Tools
) -> None:
    """Tell the person why their click or reply was rejected, and redraw the card if it is already decided.

    `found` is the message with the reason. Do nothing if it is no message, or if `actor` is None: a person without access was told so
    already.
    """
    if actor is None or not isinstance(found, Notice):
        return
    confirmation_id = read_word(row, 1) or str(row.body.get("confirmation_id", ""))
    entry = session.state.cards.get(confirmation_id)
    settled = entry is not None and entry.status != "requested"
    events = [EditClosed(confirmation_id=confirmation_id, how="late")] if settled and confirmation_id in list_edits(session.state) else []
    out = [build_toast(row, found, session)]
    if entry is not None and settled and entry.is_known:
        out.append(build_current_card(entry, session, tools))
    await session.commit(*events, actor=actor.key, outbox=out, inbox_done=[row.id])
