"""Adds lines and buttons to a reply by code; the model's text stays as it is."""

from collections.abc import Mapping
from typing import Final

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.domain.actor import Mode
from orchestrator.domain.effect import Outcome
from orchestrator.domain.outputs import Action, Notice, Reply, Text
from orchestrator.engines.base import TurnInput
from orchestrator.gate.call import fields
from orchestrator.language.orders import gives_order
from orchestrator.sessions.turn_context import Context

_OPERATORS = "!=<>@%*?~"
_SINGLE_RECORD_KEYS = ("ID", "TITLE", "NAME", "LAST_NAME")
"""Such a filter looks for particular records."""


def add_repeat_notice(reply: Reply, context: Context) -> Reply:
    repeats = [one for one in context.results if isinstance(one, Outcome) and one.repeat_of]
    if not repeats:
        return reply
    return reply.model_copy(update={"notices": (*reply.notices, Notice(code="repeats-not-sent", args={"count": len(repeats)}))})


def add_nothing_changed_notice(reply: Reply, context: Context) -> Reply:
    """The person ordered a change, and the turn proposed nothing."""
    if context.turn.is_resumed or reply.choices or context.proposed_steps or not gives_order(context.turn.text):
        return reply
    texts = [part.text for part in reply.parts if isinstance(part, Text)]
    if not texts or any("?" in text for text in texts):
        return reply
    return reply.model_copy(update={"notices": (*reply.notices, Notice(code="nothing-changed"))})


def add_own_only_notices(reply: Reply, context: Context, catalogue: Catalogue) -> Reply:
    """Unless the request asked for certain owners or records."""
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
    keys = frozenset(fields.to_field_key(name, outcome.entity) for name in (spec.owner_filter.lstrip(_OPERATORS), *_SINGLE_RECORD_KEYS))
    filter_value = context.proposed_steps[slot].params.get("filter")
    return not _has_any_key(filter_value, keys, outcome.entity)


def _has_any_key(filter_value: object, keys: frozenset[str], entity: str) -> bool:
    """At any depth; `keys` are normalized."""
    if isinstance(filter_value, Mapping):
        return any(
            fields.to_field_key(str(key).lstrip(_OPERATORS), entity) in keys or _has_any_key(value, keys, entity)
            for key, value in filter_value.items()
        )
    return isinstance(filter_value, list | tuple) and any(_has_any_key(item, keys, entity) for item in filter_value)


def add_attachment_notice(reply: Reply, turn: TurnInput) -> Reply:
    if not turn.attached:
        return reply
    return reply.model_copy(update={"notices": (*reply.notices, Notice(code="attached-not-read", args={"kind": turn.attached}))})


FORWARD_BUTTON: Final = "forward"
FORWARD_REQUESTS: Final = ("lead", "task")
"""One button each under a forwarded text."""


def list_examples(mode: Mode) -> tuple[str, ...]:
    """Shadow mode sends nothing to the portal (S004-38)."""
    return ("example-task",) if mode == "shadow" else ("example-deals", "example-task", "example-sum")


def add_forward_buttons(reply: Reply, turn: TurnInput) -> Reply:
    """For a forwarded text without a request."""
    if turn.text or not turn.quoted or turn.origin not in {"typed", "voice"} or reply.choices or reply.confirmations:
        return reply
    actions = tuple(
        Action(words=(FORWARD_BUTTON, turn.turn_id, wish), label=Notice(code=f"button-make-{wish}")) for wish in FORWARD_REQUESTS
    )
    return reply.model_copy(update={"actions": (*reply.actions, *actions)})
