"""A confirmation card as the API presents it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from bot.http_api.server.endpoint_context import Moment
from bot.i18n.translate import Translator
from bot.rendering.cards import is_undo, render_card
from bot.rendering.headings import render_heading
from bot.rendering.spans import Spans, to_plain_text
from orchestrator.domain.card_view import BULK_VERB, CardView, PreviewPart
from orchestrator.domain.inputs import ADD_TO, UNDO
from orchestrator.domain.outputs import Notice
from orchestrator.gate.approve.card_groups import find_group
from orchestrator.gate.call.kinds.bulk_methods import build_run_key
from orchestrator.gate.preview.old_texts import may_keep
from orchestrator.gate.undo.undo_policy import add_undo_status
from orchestrator.language.lexicon import load_lexicon
from orchestrator.reports.cards import FoundCard
from orchestrator.reports.viewer import Viewer, calculate_fingerprint
from state.journal.run_index import PREFIX as RUN
from state.journal.run_index import RunRow
from state.model.card import Card
from state.model.run_state import RunState

_EXAMPLES: Final = load_lexicon("api_examples")
State = Literal["requested", "approved", "denied", "expired", "superseded", "executed", "refused", "unknown"]
Filter = Literal["requested", "approved", "denied", "expired", "superseded", "executed", "refused", "unknown", "any"]
_HASH: Final = "3f0c5b8d6f6a2f8b0a9d6d7a1c6c9e0f4b2a7d5e8c1f3a6b9d0e2c4f6a8b1d3e"
_VIAS: Final = {"http": "api"}


class ApiModel(BaseModel):
    model_config = ConfigDict(frozen=True)


class Person(ApiModel):
    """A person: a key that never changes, and the name."""

    id: str = Field(examples=["tg:1007"])
    name: str = Field(examples=[_EXAMPLES.read_text("person")])


class Change(ApiModel):
    """The change of one field: its present and its new value, formatted for people."""

    field: str = Field(examples=["OPPORTUNITY"])
    name: str = Field(examples=[_EXAMPLES.read_text("sum_field")])
    before: str = Field("", description='Empty for a record that is to be made; "—" for an empty field.', examples=["1 000 000 ₽"])
    after: str = Field(examples=["1 200 000 ₽"])
    lost: int = Field(
        0,
        description="How many characters of the text in `before` are replaced or emptied; left out where no text is lost.",
        exclude_if=lambda count: not count,
    )


class Command(ApiModel):
    """One command of a batch (several portal calls that are confirmed together)."""

    key: str = Field(examples=["deal1"])
    method: str = Field(examples=["crm.deal.update"])
    title: str = Field(examples=[_EXAMPLES.read_text("card_title")])
    rows: Sequence[Change]
    outcome: str = Field("", description="After it ran: success, error, not_run, unknown.", examples=["success"])
    error: str = ""


class Decided(ApiModel):
    """A decision about a confirmation: who made it, when, and by what means (`via`)."""

    status: Literal["approved", "denied"]
    by: Person
    at: Moment
    via: str = Field(description="button, typed, console, api, cli or model.", examples=["api"])
    reason: str = ""


class RunName(ApiModel):
    """The run (execution of a scenario, flow or workflow) that something belongs to: its id for /runs/{id}, and what it executes."""

    id: str = Field(examples=["0190aaaa-0000-7000-8000-000000000001"])
    engine: str = Field(examples=["steps"])
    definition: str = Field(description="The key of the definition.", examples=["welcome"])
    home: str = Field(description="The session in which its messages are shown.", examples=["http:site:42"])


class Confirmation(ApiModel):
    """One exact call to Bitrix24 that a person must approve before it is made, with the decision if there is one."""

    id: str = Field(examples=["5f0c2a9b1e"])
    session: str = Field(description="Where it was asked for; run:{id} for one of a run.", examples=["http:site:42"])
    run: RunName | None = Field(None, description="The run that asks; null for what was asked for in a conversation.")
    group: str = Field(
        "",
        description="Equal for the confirmations of one plan, which chats show as one card; else empty. Each is decided by itself.",
        examples=["5f0c2a9b1e"],
    )
    state: State
    method: str = Field(examples=["crm.deal.update"])
    title: str = Field(description="What the call does, in words.", examples=[_EXAMPLES.read_text("card_title")])
    record: str = Field("", description="The record that it changes or has made, where there is one.", examples=["deal:481"])
    rows: Sequence[Change] = Field(description="Before → after; of a batch see `commands`.")
    commands: Sequence[Command] = ()
    count: int = Field(
        1,
        description="Of a change of many records how many there are: where `commands` has fewer, GET this confirmation, which has all of "
        "them, before somebody decides.",
        examples=[1],
    )
    started_run: str = Field("", description="Of a change of many records that was approved: the run that carries it out, for /runs/{id}.")
    total: str = Field("", description="Of a batch the sum of all commands.", examples=["3 600 000 ₽"])
    reasons: Sequence[str] = Field(description="Why it asks.", examples=[[_EXAMPLES.read_text("card_reason")]])
    comment: str = Field("", description="What the model says about it.")
    text: str = Field(description="The whole card as people in the chat read it.")
    asked_by: Person
    asked_at: Moment
    expires_at: Moment
    decided: Decided | None = None
    taps: int = Field(description="How many confirmations an approval takes: 2 for what cannot be undone.", examples=[1])
    second_confirmation: bool = Field(description="`fingerprint` is that of the second confirmation: the next approval runs the call.")
    fingerprint: str = Field(description="What a decision must send back; empty where none is open.", examples=[_HASH])
    may_approve: bool = Field(description="Whether this token may approve it now.")
    may_deny: bool = Field(description="Whether this token may deny it now.")
    why_not: str = Field("", description="Why this token may not approve it.")
    add_text: str = Field(
        "",
        description="Where a text would be replaced (`lost` of a row): sent as the next message of the conversation, it asks for a call "
        "that keeps the old text and adds the new one. Empty where that cannot be.",
    )
    undo: str = Field(
        "",
        description="Of a call that was made and can be taken back: sent as the next message of the conversation, it asks to take it back.",
    )


def to_confirmation(
    card: FoundCard, viewer: Viewer, tr: Translator, *, tap: int = 1, has_text: bool = True, now: datetime | None = None
) -> Confirmation:
    """An approval sends the card's fingerprint back; with `tap` 2 it is that of the second approval.

    `has_text` renders the whole card, the slowest part; `now` adds what can be taken back.
    """
    entry = card.entry
    view = CardView.from_card(entry)
    preview, is_open = view.preview, entry.is_waiting
    objection = viewer.find_objection(entry, approve=True) if is_open else None
    group = find_group(entry, card.entries) if card.run is None else None
    is_own = card.run is None and entry.requested_by == viewer.actor.key and card.session.startswith(f"{viewer.actor.key}:")
    may_add = is_open and is_own and not view.is_waiting_for_lead and not is_undo(entry) and may_keep(preview)
    may_undo = now is not None and is_own and bool(add_undo_status(entry, card.entries, now=now, deps=viewer.deps).undo_until)
    return Confirmation(
        id=entry.confirmation_id,
        session=card.session,
        run=to_run_name(card.session.removeprefix(RUN), card.run) if card.run is not None else None,
        group=group.anchor if group is not None else "",
        state=entry.status,
        method=entry.method,
        title=join_words(render_heading(preview, entry.method, tr)),
        record=entry.created or preview.record or (f"{preview.entity}:{preview.id}" if preview.entity and preview.id else ""),
        rows=to_changes(preview),
        commands=_to_commands(view, tr),
        count=preview.count,
        started_run=build_run_key(entry.effect_id).removeprefix(RUN) if preview.verb == BULK_VERB and entry.status == "executed" else "",
        total=preview.sum,
        reasons=render_reasons(view.reasons, tr),
        comment=entry.comment,
        text=to_plain_text(render_card(view, tr)) if has_text else "",
        asked_by=Person(id=entry.requested_by, name=entry.requested_by_name),
        asked_at=entry.requested_at,
        expires_at=entry.expires_at,
        decided=_to_decided(entry),
        taps=entry.taps,
        second_confirmation=is_open and tap > 1,
        fingerprint=calculate_fingerprint(entry, tap=tap) if is_open else "",
        may_approve=is_open and objection is None,
        may_deny=is_open and viewer.find_objection(entry, approve=False) is None,
        why_not=tr.translate_notice(objection) if objection is not None else "",
        add_text=f"{ADD_TO}:{entry.confirmation_id}" if may_add else "",
        undo=build_undo_token(entry.effect_id) if may_undo else "",
    )


def build_undo_token(effect_id: str) -> str:
    """Sent as a message of the conversation, it asks to take the call back."""
    return f"{UNDO}:{effect_id}"


def to_run_name(run_id: str, run: RunState | RunRow) -> RunName:
    return RunName(id=run_id, engine=run.engine, definition=run.definition, home=run.home)


def join_words(text: Spans) -> str:
    """Without formatting and links."""
    return "".join(span.text for span in text)


def to_changes(preview: PreviewPart) -> list[Change]:
    """Empty if the preview has none."""
    return [Change(field=line.field, name=line.name, before=line.before, after=line.after, lost=line.lost) for line in preview.lines]


def render_reasons(reasons: Sequence[Notice], tr: Translator) -> list[str]:
    return list(dict.fromkeys(tr.translate_notice(reason) for reason in reasons))


def format_via(via: str) -> str:
    """ "api" for "http", any other value unchanged."""
    return _VIAS.get(via, via)


def _to_commands(view: CardView, tr: Translator) -> list[Command]:
    reports = {report.key: report for report in view.commands}
    return [
        Command(
            key=item.key,
            method=item.method,
            title=join_words(render_heading(item, item.method, tr)),
            rows=to_changes(item),
            outcome=reports[item.key].status if item.key in reports else "",
            error=reports[item.key].error if item.key in reports else "",
        )
        for item in view.preview.items
    ]


def _to_decided(entry: Card) -> Decided | None:
    who = {"denied": (entry.denied_by, entry.denied_by_name), "approved": (entry.approved_by, entry.approved_by_name)}
    for status, (key, name) in who.items():
        if key:
            via, at = format_via(entry.via), entry.find_time(status)
            return Decided.model_validate({"status": status, "by": Person(id=key, name=name), "at": at, "via": via, "reason": entry.reason})
    return None
