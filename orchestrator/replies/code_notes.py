"""Adds lines and buttons to a reply by code; the text that the model wrote stays as it is.

The additions are: one line for each change made without a card (so that nobody was asked to confirm it), the number of repeated changes
that were not sent, a note that a list contains only the person's own records, example requests, and buttons under a forwarded text.
"""

from collections.abc import Mapping
from typing import Final

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.domain.actor import Mode
from orchestrator.domain.effect_record import EffectOutcome
from orchestrator.domain.outcome import Outcome
from orchestrator.domain.outputs import Action, Notice, Reply
from orchestrator.engines.base import TurnInput
from orchestrator.gate.call import fields
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.ports import Names
from orchestrator.gate.call.serialization import StoredCall, StoredOrder, build_doubt_args
from orchestrator.replies.turn_outcome import MAX_NAMED
from orchestrator.runtime.turn_context import Context
from state.journal.store import EffectRow
from state.stored import JsonObject

_TITLE = 80
_OPERATORS = "!=<>@%*?~"
"""The characters that may stand before a field's name in a filter."""
_SINGLE_RECORD_KEYS = ("ID", "TITLE", "NAME", "LAST_NAME")
"""A filter by one of these fields looks for particular records, so a person does not take the answer for a list of all."""


async def add_made_lines(reply: Reply, context: Context, names: Names) -> Reply:
    """Return the reply with one line for each change made without a confirmation card. Raises StoreError.

    A reply that lists the changes already is returned unchanged.
    """
    if any(notice.code == "done-before" for notice in reply.notices):
        return reply
    lines = []
    for slot in context.proposed_steps:
        row = await context.find_effect(slot)
        if row is not None and _is_made_without_card(row):
            lines.append(_build_made_line(row, names, user=context.actor.bitrix_user_id or 0))
    more = [Notice(code="made-more", args={"count": len(lines) - MAX_NAMED})] if len(lines) > MAX_NAMED else []
    return reply.model_copy(update={"notices": (*lines[:MAX_NAMED], *more, *reply.notices)}) if lines else reply


def _is_made_without_card(row: EffectRow) -> bool:
    order = StoredOrder.from_data(row.call)
    return row.status == "succeeded" and not order.confirmation_id and order.call.kind == "bitrix"


def _build_made_line(row: EffectRow, names: Names, *, user: int) -> Notice:
    """Return a line such as «Создана сделка «Ромашка» №484», with the link to the record."""
    name, call = build_doubt_args(row.effect_id, row.call), StoredOrder.from_data(row.call).call
    target, number = _find_record(EffectOutcome.model_validate(row.outcome or {}).created, call)
    title = _format_title(name, call.params) if name["verb"] == "add" else ""  # an existing title is in `call-named`
    shown = " ".join(part for part in (f"«{title}»" if title else "", f"№{number}" if number else "") if part)
    args = {
        **name,
        "effect_id": row.effect_id,
        "target": target,
        "name": shown,
        "named": bool(shown),
        "url": names.build_card_url(target, number, user=user) if number else "",
    }
    return Notice(code="made", args=args)


def _format_title(name: JsonObject, params: JsonObject) -> str:
    """Return the title of the record that was created; for a contact, its first and last name. Return "" if there is none."""
    person = params.get("fields")
    if name["entity"] != "contact" or not isinstance(person, Mapping):
        return "" if str(name["title"]).startswith("№") else str(name["title"])
    return escape_text(" ".join(str(person[key]) for key in ("NAME", "LAST_NAME") if person.get(key)), limit=_TITLE)


def _find_record(created: str, call: StoredCall) -> tuple[str, int]:
    """Return (kind, id) of the record that the call created, or else of the one that it changed.

    Return ("", 0) if the call concerns no record or several.
    """
    kind, _, number = created.rpartition(":")
    if number.isdigit() and kind and (kind != "comment"):
        return kind, int(number)
    places = {(str(entity), int(place)) for entity, place in (*call.targets, *call.ties)}
    return places.pop() if len(places) == 1 else ("", 0)


def add_repeat_notice(reply: Reply, context: Context) -> Reply:
    """Return the reply with a note that tells how many changes were not sent, because the model proposed them again after they were made.

    If there are none, return the reply unchanged.
    """
    repeats = [one for one in context.results if isinstance(one, Outcome) and one.repeat_of]
    if not repeats:
        return reply
    return reply.model_copy(update={"notices": (*reply.notices, Notice(code="repeats-not-sent", args={"count": len(repeats)}))})


def add_own_only_notices(reply: Reply, context: Context, catalogue: Catalogue) -> Reply:
    """Return the reply with a note for each kind of record of which the bot read only the person's own records.

    There is no note if the request itself asked for certain owners or records.
    """
    if context.actor.sees != "own" or not reply.parts:  # nothing is shown of a turn that was cut short
        return reply
    read = [
        item.entity
        for slot, item in context.outcomes.items()
        if isinstance(item, Outcome) and _is_narrowed_to_own(slot, item, context, catalogue)
    ]
    told = [Notice(code="only-own", args={"entity": entity}) for entity in dict.fromkeys(read)]
    return reply.model_copy(update={"notices": (*told, *reply.notices)}) if told else reply


def _is_narrowed_to_own(slot: str, outcome: Outcome, context: Context, catalogue: Catalogue) -> bool:
    spec = catalogue.find(outcome.method)
    if outcome.status != "succeeded" or spec is None or spec.owner != "filter" or slot not in context.proposed_steps:
        return False
    wanted = frozenset(fields.to_field_key(name, outcome.entity) for name in (spec.owner_filter.lstrip(_OPERATORS), *_SINGLE_RECORD_KEYS))
    asked = context.proposed_steps[slot].params.get("filter")
    return not _has_any_key(asked, wanted, outcome.entity)


def _has_any_key(asked: object, wanted: frozenset[str], entity: str) -> bool:
    """Return whether the filter proposed by the model contains, at any depth, one of the fields `wanted`.

    Such a filter already says whose or which records it looks for.
    """
    if isinstance(asked, Mapping):
        return any(
            fields.to_field_key(str(key).lstrip(_OPERATORS), entity) in wanted or _has_any_key(value, wanted, entity)
            for key, value in asked.items()
        )
    return isinstance(asked, list | tuple) and any(_has_any_key(item, wanted, entity) for item in asked)


def add_attachment_notice(reply: Reply, turn: TurnInput) -> Reply:
    """Return the reply with a note that a picture or file that came with the message was not read; unchanged if none came."""
    if not turn.attached:
        return reply
    return reply.model_copy(update={"notices": (*reply.notices, Notice(code="attached-not-read", args={"kind": turn.attached}))})


FORWARD_BUTTON: Final = "forward"
FORWARD_REQUESTS: Final = ("lead", "task")
"""What a click on a button under a forwarded text asks the bot to make of the text, one button each."""


def list_examples(mode: Mode) -> tuple[str, ...]:
    """Return the codes of the example requests that fit `mode`.

    In shadow mode nothing is sent to the portal, so examples that read from it are left out (S004-38).
    """
    return ("example-task",) if mode == "shadow" else ("example-deals", "example-task", "example-sum")


def add_forward_buttons(reply: Reply, turn: TurnInput) -> Reply:
    """Return the reply with buttons that create a lead or a task, if the person forwarded a text without a request of their own.

    A reply that already asks the person something is returned unchanged.
    """
    if turn.text or not turn.quoted or turn.origin not in {"typed", "voice"} or reply.choices or reply.confirmations:
        return reply
    made = tuple(Action(words=(FORWARD_BUTTON, turn.turn_id, wish), label=Notice(code=f"button-make-{wish}")) for wish in FORWARD_REQUESTS)
    return reply.model_copy(update={"actions": (*reply.actions, *made)})
