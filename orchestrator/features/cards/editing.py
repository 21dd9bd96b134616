"""✏: a person changes one value of a card before deciding. The new value makes a new call, a new card and a new consent. Ring 2.

press edit → which field → its new value as a reply → read by code → a new request through the gate; the old card is «заменено» in the
same commit. Nothing here approves anything, and no model is asked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bitrix.catalogue.catalogue import Catalogue
from bitrix.errors import BitrixError
from orchestrator.directory.answers import Ambiguous, Option, Resolved, Unresolved
from orchestrator.domain.actor import Actor
from orchestrator.domain.outcome import Outcome, Pending
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.features.cards import open_cards
from orchestrator.features.cards.field_input import EditableField, FieldContext, list_editable_fields, read_value, replace_value
from orchestrator.features.cards.open_cards import REFRESH, refresh_open_cards
from orchestrator.features.cards.resubmit import (
    OUTDATED,
    ask_again,
    build_current_card,
    build_toast,
    describe_status,
    is_undo,
    submit_again,
)
from orchestrator.gate.approve import confirmations
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.ports import FieldLists
from orchestrator.gate.call.serialization import UndecodableCall, decode_call
from orchestrator.language.lexicon import load_lexicon
from orchestrator.runtime import outbox
from orchestrator.runtime.session import Session
from orchestrator.runtime.turn import Handlers, Tools, admit_actor
from state.clock import parse_iso
from state.events.cards import EditAsked, EditClosed, list_edits
from state.journal.store import EffectConflict, InboxRow, OutboxRow

ANSWER: Final = "edit_value"
"""Kind of the input that is a reply to a question of ours: {confirmation_id, ask, text}."""
_MOST_OPTIONS: Final = 8
_CANCEL: Final = frozenset(load_lexicon("answers").read_words("value", "keep"))


@dataclass(frozen=True, kw_only=True)
class _EditableCard:
    """A card that may still be changed, and what of it."""

    entry: Mapping[str, Any]
    call: Call
    fields: Sequence[EditableField]

    @property
    def id(self) -> str:
        """The number of the confirmation."""
        return str(self.entry["confirmation_id"])


def build_handlers(catalogue: Catalogue, lists: FieldLists) -> Handlers:
    """What the buttons of cards and the answers to their questions lead to; `lists` tell the types of the portal's own fields."""
    editing = CardEditor(catalogue, lists)
    presses = {"edit": editing.begin, "field": editing.select_field, "pick": editing.pick, "noedit": editing.cancel, "again": ask_again}
    return Handlers(inbox={ANSWER: editing.receive_answer, REFRESH: refresh_open_cards}, buttons=presses)


class CardEditor:
    """Works the presses and answers of an edit, each in one commit of its own; all of it may raise StoreError."""

    def __init__(self, catalogue: Catalogue, lists: FieldLists) -> None:
        """Keep the parts."""
        self._catalogue = catalogue
        self._lists = lists

    async def begin(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """The press ("edit", id): ask which field, or at once for the value where there is only one."""
        actor = await admit_actor(row, session, tools)
        card = await self._find_card(_get_word(row, 1), actor, session) if actor is not None else None
        if actor is None or isinstance(card, Notice) or card is None:
            await _report_objection(card, row, actor, session, tools)
            return
        if len(card.fields) == 1:
            await _ask(card, card.fields[0], row, actor, session)
            return
        event = EditAsked(confirmation_id=card.id, by=actor.key, ask=_next_question_number(card, session), options=[])
        shown = [
            build_toast(row, Notice(code="toast-which-field"), session),
            open_cards.build_picker_row(session.key, card.id, card.fields, session.now),
        ]
        await session.commit(event, actor=actor.key, outbox=shown, inbox_done=[row.id])

    async def select_field(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """The press ("field", id, n): ask for the new value of the n-th field."""
        actor = await admit_actor(row, session, tools)
        card = await self._find_card(_get_word(row, 1), actor, session) if actor is not None else None
        if actor is None or isinstance(card, Notice) or card is None:
            await _report_objection(card, row, actor, session, tools)
            return
        number = _get_word(row, 2)
        if not number.isdecimal() or int(number) >= len(card.fields):
            await _report_objection(OUTDATED, row, actor, session, tools)
            return
        await _ask(card, card.fields[int(number)], row, actor, session)

    async def cancel(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """The press ("noedit", id): everything stays as it is."""
        actor = await admit_actor(row, session, tools)
        if actor is None:
            return
        edit = list_edits(dict(session.state)).get(_get_word(row, 1))
        if edit is None or edit["by"] != actor.key:
            await _report_objection(Notice(code="edit-over"), row, actor, session, tools)
            return
        await _cancel_edit(_get_word(row, 1), row, actor, session)

    async def pick(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """The press ("pick", id, ask, n): one of the meanings that the answer could have."""
        actor = await admit_actor(row, session, tools)
        card = await self._find_card(_get_word(row, 1), actor, session) if actor is not None else None
        if actor is None or isinstance(card, Notice) or card is None:
            await _report_objection(card, row, actor, session, tools)
            return
        edit = list_edits(dict(session.state)).get(card.id)
        ask, number = _get_word(row, 2), _get_word(row, 3)
        options = edit["options"] if edit is not None and edit["by"] == actor.key and ask == str(edit["ask"]) else []
        field = next((one for one in card.fields if edit is not None and one.code == edit["code"]), None)
        if field is None or not number.isdecimal() or int(number) >= len(options):
            await _report_objection(Notice(code="edit-over"), row, actor, session, tools)
            return
        option = options[int(number)]
        await self._request_change(card, field, option["value"], str(option["label"]), row=row, actor=actor, session=session, tools=tools)

    async def receive_answer(self, row: InboxRow, session: Session, tools: Tools) -> None:
        """A reply to the question: read it, and make the new request; a wrong value is told and asked for again."""
        actor = await admit_actor(row, session, tools)
        card = await self._find_card(str(row.body["confirmation_id"]), actor, session) if actor is not None else None
        if actor is None or isinstance(card, Notice) or card is None:
            await _report_objection(card, row, actor, session, tools)
            return
        edit = list_edits(dict(session.state)).get(card.id)
        field = next((one for one in card.fields if edit is not None and one.code == edit["code"]), None)
        if edit is None or field is None or edit["by"] != actor.key or edit["ask"] != row.body["ask"]:
            await _report_objection(Notice(code="edit-over"), row, actor, session, tools)
            return
        words = str(row.body["text"]).strip()
        if words.lower().strip(" .!") in _CANCEL:
            await _cancel_edit(card.id, row, actor, session)
            return
        place = FieldContext(call=card.call, before=card.entry.get("before") or {}, state=session.state)
        try:
            found = await read_value(words, field, place, actor=actor, tools=tools) if words else _build_empty_answer()
        except BitrixError:
            found = Unresolved(notice=Notice(code="edit-not-read-now"), detail="the portal cannot be read")
        match found:
            case Resolved():
                await self._request_change(card, field, found.value, words, row=row, actor=actor, session=session, tools=tools)
            case Ambiguous():
                await _ask(card, field, row, actor, session, objection=found.ask, options=found.options[:_MOST_OPTIONS])
            case Unresolved():
                await _ask(card, field, row, actor, session, objection=found.notice)

    async def _request_change(  # noqa: PLR0913 - a card, what is new of it, and who works on it where
        self,
        card: _EditableCard,
        field: EditableField,
        value: Any,
        said: str,
        *,
        row: InboxRow,
        actor: Actor,
        session: Session,
        tools: Tools,
    ) -> None:
        """The new request; what the gate does not take is told, and asked for again."""
        params = replace_value(card.call.params, field.code, value)
        result = await submit_again(card.entry, params, f"edit:{row.id}", actor, session, tools, said=said)
        if isinstance(result, Pending) and result.confirmation_id == card.id:
            await _ask(card, field, row, actor, session, objection=Notice(code="edit-same"))
        elif isinstance(result, Pending):
            await _replace_card(card, result.confirmation_id, field, row=row, actor=actor, session=session)
        else:
            await _ask(card, field, row, actor, session, objection=_find_reason(result))

    async def _find_card(self, confirmation_id: str, actor: Actor | None, session: Session) -> "_EditableCard | Notice":
        """The card as it may be changed by that person now, or why it may not."""
        entry = session.state["agent"]["confirmations"].get(confirmation_id)
        if entry is None or actor is None:
            return OUTDATED
        if entry["status"] != "requested":
            return describe_status(entry)
        if parse_iso(entry["expires_at"]) <= session.now:
            return Notice(code="card-expired", args={"at": entry["expires_at"]})
        if entry["requested_by"] != actor.key:
            return Notice(code="edit-not-yours", args={"who": entry["requested_by_name"]})
        stored = await session.find_effect(entry["effect_id"])
        try:
            call = decode_call(stored.call["call"], self._catalogue) if stored is not None else None
        except UndecodableCall:
            call = None
        fields = list_editable_fields(call, entry.get("preview") or {}, await self._load_custom_types(call)) if call is not None else []
        if call is None or not fields or is_undo(entry):
            return Notice(code="edit-not-here")
        return _EditableCard(entry=entry, call=call, fields=fields)

    async def _load_custom_types(self, call: Call) -> Mapping[str, str]:
        """The types of the portal's own fields; none where the portal cannot be asked: those fields are then not offered."""
        if not call.entity:
            return {}
        try:
            listed = await self._lists.load_fields(call.entity)
        except BitrixError:
            return {}
        return {code: field.type for code, field in listed.items() if field.custom and not field.multiple}


def _build_empty_answer() -> Unresolved:
    return Unresolved(notice=Notice(code="edit-empty"), detail="nothing was written")


def _find_reason(result: Outcome) -> Notice:
    if result.status == "planned":
        return Notice(code="shadow-now")
    return result.reason or Notice(code="portal-refused", args={"text": result.detail})


def _get_word(row: InboxRow, number: int) -> str:
    words = row.body["words"]
    return str(words[number]) if len(words) > number else ""


def _next_question_number(card: _EditableCard, session: Session) -> int:
    """The number of the next question about that card: answers to earlier ones count no more."""
    edit = list_edits(dict(session.state)).get(card.id)
    return edit["ask"] + 1 if edit is not None else 1


async def _ask(
    card: _EditableCard,
    field: EditableField,
    row: InboxRow,
    actor: Actor,
    session: Session,
    *,
    objection: Notice | None = None,
    options: Sequence[Option] = (),
) -> None:
    """Ask for the value of the field, in a message of its own: one that stands above is not seen, and Telegram edits no forced reply."""
    ask = _next_question_number(card, session)
    kept = [{"value": option.value, "label": option.label, "target": option.target} for option in options]
    event = EditAsked(confirmation_id=card.id, code=field.code, by=actor.key, ask=ask, options=kept)
    labels = [option.label for option in options]
    out = [open_cards.build_question_row(session.key, card.id, field, session.now, ask=ask, objection=objection, options=labels)]
    if row.body.get("callback_id"):
        out.insert(0, build_toast(row, objection or Notice(code="toast-new-value", args={"field": field.name}), session))
    if len(card.fields) > 1:
        out.insert(0, open_cards.build_picker_result_row(session.key, card.id, "edit-field", session.now, field=field.name))
    await session.commit(event, actor=actor.key, outbox=out, inbox_done=[row.id])


async def _replace_card(card: _EditableCard, new_id: str, field: EditableField, *, row: InboxRow, actor: Actor, session: Session) -> None:
    """The old card closes and the new one shows, in one commit; where somebody decided on the old one meanwhile, that holds."""
    entries = session.state["agent"]["confirmations"]
    closing = confirmations.build_superseded_closing(card.entry, why="edited", by=new_id)
    over = EditClosed(confirmation_id=card.id, how="replaced")
    old = {**card.entry, "status": "superseded", "why": "edited"}
    out = [
        outbox.build_card_row(session.key, old, session.now),
        outbox.build_card_row(session.key, entries[new_id], session.now),
    ]
    out.extend(_build_closed_picker(card, session, "edit-done", field=field.name))
    if row.body.get("callback_id"):
        out.append(build_toast(row, Notice(code="toast-new-card"), session))
    timer = confirmations.drop_timer(card.entry, session)
    try:
        await session.commit(
            closing.event, over, actor=actor.key, effects=[closing.change], timers=[timer], outbox=out, inbox_done=[row.id]
        )
    except EffectConflict:
        await _drop_late_card(card, new_id, row=row, actor=actor, session=session)


async def _drop_late_card(card: _EditableCard, new_id: str, *, row: InboxRow, actor: Actor, session: Session) -> None:
    """Somebody decided on the card while its new value was read: the new one, which nobody has seen, goes."""
    entries = session.state["agent"]["confirmations"]
    now = entries.get(card.id) or card.entry
    notice = describe_status(now) if now["status"] != "requested" else OUTDATED
    new = confirmations.build_superseded_closing(entries[new_id], why="edited")
    over = EditClosed(confirmation_id=card.id, how="late")
    out = [
        outbox.build_reply_row(session.key, build_reply(notice), session.now),
        *_build_closed_picker(card, session, "edit-over"),
    ]
    if row.body.get("callback_id"):
        out.append(build_toast(row, notice, session))
    timer = confirmations.drop_timer(entries[new_id], session)
    await session.commit(new.event, over, actor=actor.key, effects=[new.change], timers=[timer], outbox=out, inbox_done=[row.id])


def _build_closed_picker(card: _EditableCard, session: Session, code: str, **args: Any) -> list[OutboxRow]:
    return [open_cards.build_picker_result_row(session.key, card.id, code, session.now, **args)] if len(card.fields) > 1 else []


async def _cancel_edit(confirmation_id: str, row: InboxRow, actor: Actor, session: Session) -> None:
    """Everything stays as it is, and the card still waits: it is shown at the end of the chat."""
    entry = session.state["agent"]["confirmations"].get(confirmation_id)
    event = EditClosed(confirmation_id=confirmation_id, how="cancelled")
    out = [build_toast(row, Notice(code="edit-cancelled"), session)]
    if row.body.get("callback_id"):
        out.append(open_cards.build_picker_result_row(session.key, confirmation_id, "edit-cancelled", session.now))
    if entry is not None and entry["status"] == "requested" and not row.body.get("callback_id"):
        out.append(open_cards.build_fresh_card_row(session.key, entry, session.now))
    await session.commit(event, actor=actor.key, outbox=out, inbox_done=[row.id])


async def _report_objection(
    found: "_EditableCard | Notice | None", row: InboxRow, actor: Actor | None, session: Session, tools: Tools
) -> None:
    """The press or the answer does not count: it is told why, a card that looks otherwise is put right. Nothing where access is gone."""
    if actor is None or not isinstance(found, Notice):
        return
    named = str(row.body["words"][1]) if len(row.body.get("words") or ()) > 1 else str(row.body.get("confirmation_id", ""))
    entry = session.state["agent"]["confirmations"].get(named)
    settled = entry is not None and entry["status"] != "requested"
    events = [EditClosed(confirmation_id=named, how="late")] if settled and named in list_edits(dict(session.state)) else []
    out = [build_toast(row, found, session)]
    if entry is not None and settled and "preview" in entry:
        out.append(build_current_card(entry, session, tools))
    await session.commit(*events, actor=actor.key, outbox=out, inbox_done=[row.id])
