"""The words for what happens in a trial, for the terminal and the console alike."""

from typing import Final

from bot.i18n.translate import Translator, split_method
from bot.rendering.kinds import render_message
from bot.rendering.spans import to_plain_text
from engines.workflows.core.entities import find_entity
from engines.workflows.core.results import AtomicOperation
from orchestrator.domain.outputs import Reply
from orchestrator.expressions.placeholders import format_value

_LONGEST: Final = 4000


def cut_text(text: str) -> str:
    """Return the text, or its begin if it is too long to be shown."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def render_plain_reply(reply: Reply, tr: Translator) -> str:
    """Return a message as a chat shows it, without its marks."""
    return to_plain_text(render_message("reply", reply.model_dump(mode="json"), tr))


def describe_operation(operation: AtomicOperation, tr: Translator) -> str:
    """Return an operation as people read it: what it does to which record, then the fields."""
    method = find_entity(operation.entity_type).find_method(operation.operation_type)
    words = f"{tr.describe_call(method, *split_method(method)) or method} {operation.entity_id}"
    if operation.operation_type == "ModifyEntity":
        return f"{words}: {operation.attribute_key} {operation.modify_operator} {cut_text(format_value(operation.modify_value)).strip()}"
    fields = "; ".join(f"{name} = {cut_text(format_value(one))}" for name, one in (operation.initial_attributes or {}).items())
    return f"{words}: {fields}" if fields else words
