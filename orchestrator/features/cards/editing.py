"""The ✏ button: a person changes one value of a card before they decide it.

The value is read by code, without a model. The new request gets its own card, whose commit closes the old one as «заменено».
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
from orchestrator.domain.effect import Outcome, Pending
from orchestrator.domain.message_views import EditableField
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.features.cards import open_cards
from orchestrator.features.cards.field_input import (
    TEXTS,
    FieldContext,
    list_editable_fields,
    list_options,
    load_call_fields,
    read_choice,
    read_value,
    replace_value,
)
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

ANSWER: Final = "edit_value"
"""A reply to a question about a value: {confirmation_id, ask, text}."""
_MOST_OPTIONS: Final = 8
_NO_ANSWER: Final = Unresolved(notice=Notice(code="edit-empty"), detail="nothing was written")
_WORDS: Final = load_lexicon("answers")
_CANCEL: Final = frozenset(_WORDS.read_words("value", "keep"))
_NO: Final = frozenset(_WORDS.read_words("value", "no"))


@dataclass(frozen=True, kw_only=True)
class _EditableCard:
    entry: Card
    call: Call
    fields: Sequence[EditableField]

    @property
    def id(self) -> str:
        return self.entry.confirmation_id

    @property
    def lost_texts(self) -> Mapping[str, str]:
        """Texts that the call would replace: field code → text."""
        preview = Preview.model_validate(self.entry.preview or {})
        images = ((self.entry.before or {}).get(f"{kind}:{number}") for kind, number in self.call.targets)
        record = next((image for image in images if image), {})
        codes = {line.field: self.call.spec.stands_for.get(line.field, line.field) for line in preview.lines if may_keep_line(line)}
        values = {code: find_value(record, place, self.call.entity) for code, place in codes.items()}
        return {code: text for code, text in values.items() if isinstance(text, str)}

    def get_place(self, session: Session) -> FieldContext:
        return FieldContext(call=self.call, before=self.entry.before or {}, state=session.state)


class CardEditor:
    """One commit for each click and reply. Every method may raise StoreError."""

    def __init__(self, catalogue: Catalogue, reference: Reference) -> None:
        self._catalogue = catalogue
        self._reference = reference

    async def begin(self, row: InboxRow, session: Session, tools: Tools) -> None:
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
        """Fields are counted from 0."""
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
        actor = await admit_actor(row, session, tools)
        if actor is None:
            return
        edit = list_edits(session.state).get(read_word(row, 1))
        if edit is None or edit.by != actor.key:
            await _report_objection(Notice(code="edit-over"), row, actor, session, tools)
            return
        await _cancel_edit(read_word(row, 1), row, actor, session)

    async def pick(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """One of the values offered after an ambiguous reply, by card, question and number from 0."""
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
        """An invalid value is asked again; a request in the reply goes to a turn."""
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
        """Words without a value are done as they say."""
        try:
            resolution = await self._read(words, field, card.get_place(session), actor, tools) if words else _NO_ANSWER
        except BitrixError:
            resolution = Unresolved(notice=Notice(code="edit-not-read-now"), detail="the portal cannot be read")
        is_unread = _is_unread(resolution)
        if is_unread and _fold_answer(words) in _NO:  # no value is called so
            await _cancel_edit(card.id, row, actor, session)
            return
        if is_unread and may_be_request(words):
            await _pass_on(row, actor, session)
            return
        match resolution:
            case Resolved():
                await self._request_change(card, field, resolution.value, words, row=row, actor=actor, session=session, tools=tools)
            case Ambiguous():
                await self._ask(card, field, row, actor, session, objection=resolution.ask, options=resolution.options[:_MOST_OPTIONS])
            case Unresolved():
                await self._ask(card, field, row, actor, session, objection=resolution.notice)

    async def _read(self, words: str, field: EditableField, place: FieldContext, actor: Actor, tools: Tools) -> Resolution:
        """Leave out words that only lead to a value, if needed."""
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
        words: str,
        *,
        row: InboxRow,
        actor: Actor,
        session: Session,
        tools: Tools,
    ) -> None:
        """A refusal is explained and asked again."""
        params = replace_value(card.call.params, field.code, value)
        result = await submit_again(card.entry, params, f"edit:{row.id}", actor, session, tools, words=words)
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
        """In a new message: an edited one would be overlooked, and cannot open the reply field.

        `options` are what the last answer may have meant, else what the field allows.
        """
        ask = _next_question_number(card, session)
        options = options or await list_options(field, card.get_place(session), actor, self._reference)
        stored_options = [{"value": option.value, "label": option.label, "target": option.target} for option in options]
        event = EditAsked(confirmation_id=card.id, code=field.code, by=actor.key, ask=ask, options=stored_options)
        labels = [option.label for option in options]
        out = [open_cards.build_question_row(session.key, card.id, field, session.now, ask=ask, objection=objection, options=labels)]
        if is_click(row):
            out.insert(0, build_toast(row, objection or Notice(code="toast-new-value", args={"field": field.name}), session))
        if len(card.fields) > 1:
            out.insert(0, open_cards.build_picker_result_row(session.key, card.id, "edit-field", session.now, field=field.name))
        await session.commit(event, actor=actor.key, outbox=out, inbox_done=[row.id])

    async def _find_card(self, confirmation_id: str, actor: Actor | None, session: Session) -> "_EditableCard | Notice":
        """The card, or why this person cannot change it now."""
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
        """Field code → type; empty if the portal cannot be read. Fields with several values cannot be edited."""
        call_fields = await load_call_fields(call, self._reference)
        return {
            code: field.type for code, field in call_fields.items() if (field.custom or field.type == "crm_status") and not field.multiple
        }


def _fold_answer(words: str) -> str:
    return fold(words).strip(" .!")


def _is_unread(resolution: Resolution) -> bool:
    return isinstance(resolution, Unresolved) or (isinstance(resolution, Ambiguous) and resolution.is_guess)


async def _pass_on(row: InboxRow, actor: Actor, session: Session) -> None:
    """The question stays open: a later reply may still be the value."""
    await session.commit(actor=actor.key, inbox_new=[build_request_row(row)], inbox_done=[row.id])


def _find_reason(result: Outcome) -> Notice:
    if result.status == "planned":
        return Notice(code="shadow-now")
    if result.reason is not None:
        return result.reason
    notice = explain_portal_error(result.detail, method=result.method)
    return Notice(code="portal-refused", args={"text": notice.model_dump(mode="json")})


def _next_question_number(card: _EditableCard, session: Session) -> int:
    """Replies to earlier questions no longer count."""
    edit = list_edits(session.state).get(card.id)
    return edit.ask + 1 if edit is not None else 1


async def _replace_card(card: _EditableCard, new_id: str, field: EditableField, *, row: InboxRow, actor: Actor, session: Session) -> None:
    """In one commit. If the old card was decided meanwhile, the new one is closed instead."""
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
    entry = session.state.cards.get(confirmation_id)
    event = EditClosed(confirmation_id=confirmation_id, how="cancelled")
    out = [build_toast(row, Notice(code="edit-cancelled"), session)]
    if is_click(row):
        out.append(open_cards.build_picker_result_row(session.key, confirmation_id, "edit-cancelled", session.now))
    if entry is not None and entry.status == "requested" and not is_click(row):
        out.append(open_cards.build_fresh_card_row(session.key, entry, session.now))
    await session.commit(event, actor=actor.key, outbox=out, inbox_done=[row.id])


async def _report_objection(
    objection: "_EditableCard | Notice | None", row: InboxRow, actor: Actor | None, session: Session, tools: Tools
) -> None:
    """Also redraw a decided card. A person without access was told already."""
    if actor is None or not isinstance(objection, Notice):
        return
    confirmation_id = read_word(row, 1) or str(row.body.get("confirmation_id", ""))
    entry = session.state.cards.get(confirmation_id)
    settled = entry is not None and entry.status != "requested"
    events = [EditClosed(confirmation_id=confirmation_id, how="late")] if settled and confirmation_id in list_edits(session.state) else []
    out = [build_toast(row, objection, session)]
    if entry is not None and settled and entry.is_known:
        out.append(build_current_card(entry, session, tools))
    await session.commit(*events, actor=actor.key, outbox=out, inbox_done=[row.id])
