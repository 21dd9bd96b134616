"""Adds lines and buttons to a reply by code; the text that the model wrote stays as it is.

The additions are how many repeats of changes were not sent, a note that a list holds only the person's own records, example requests, and
buttons under a forwarded text. What was changed without a card is told by `made_changes`.
"""

from collections.abc import Mapping
from typing import Final

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.domain.actor import Mode
from orchestrator.domain.outcome import Outcome
from orchestrator.domain.outputs import Action, Notice, Reply, Text
from orchestrator.engines.base import TurnInput
from orchestrator.gate.call import fields
from orchestrator.language.orders import gives_order
from orchestrator.sessions.turn_context import Context

_OPERATORS = "!=<>@%*?~"
"""The characters that may stand before a field's name in a filter."""
_SINGLE_RECORD_KEYS = ("ID", "TITLE", "NAME", "LAST_NAME")
"""A filter by one of these fields looks for particular records, so a person does not take the answer for a list of all."""


def add_repeat_notice(reply: Reply, context: Context) -> Reply:
    """Return the reply with a note that tells how many changes were not sent, because the model proposed them again after they were made.

    If there are none, return the reply unchanged.
    """
    repeats = [one for one in context.results if isinstance(one, Outcome) and one.repeat_of]
    if not repeats:
        return reply
    return reply.model_copy(update={"notices": (*reply.notices, Notice(code="repeats-not-sent", args={"count": len(repeats)}))})


def add_nothing_changed_notice(reply: Reply, context: Context) -> Reply:
    """Return the reply with a note that nothing was changed, if the person ordered a change and the turn proposed no step and no question.

    A turn that goes on after its cards tells of what they changed.
    """
    if context.turn.is_resumed or reply.choices or context.proposed_steps or not gives_order(context.turn.text):
        return reply
    texts = [part.text for part in reply.parts if isinstance(part, Text)]
    if not texts or any("?" in text for text in texts):
        return reply
    return reply.model_copy(update={"notices": (*reply.notices, Notice(code="nothing-changed"))})


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
    notices = [Notice(code="only-own", args={"entity": entity}) for entity in dict.fromkeys(read)]
    return reply.model_copy(update={"notices": (*notices, *reply.notices)}) if notices else reply


def _is_narrowed_to_own(slot: str, outcome: Outcome, context: Context, catalogue: Catalogue) -> bool:
    spec = catalogue.find(outcome.method)
    if outcome.status != "succeeded" or spec is None or spec.owner != "filter" or slot not in context.proposed_steps:
        return False
    wanted = frozenset(fields.to_field_key(name, outcome.entity) for name in (spec.owner_filter.lstrip(_OPERATORS), *_SINGLE_RECORD_KEYS))
    asked = context.proposed_steps[slot].params.get("filter")
    return not _has_any_key(asked, wanted, outcome.entity)


def _has_any_key(asked: object, wanted: frozenset[str], entity: str) -> bool:
    """Return whether `asked`, the filter that the model proposed, contains at any depth one of the fields `wanted` (as normalized keys).

    Such a filter already says whose or which records it looks for. `entity` is the kind of these records.
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
