"""Old and new text of a changed part of a record, such as a task's comment. Pure."""

from collections.abc import Sequence
from typing import Final

from orchestrator.domain.card_view import PreviewLine
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.param_words import find_param_words

_TEXTS: Final = frozenset({"TITLE", "POST_MESSAGE", "COMMENT_TEXT", "COMMENT"})


def put_old_text(lines: Sequence[PreviewLine], call: Call) -> list[PreviewLine]:
    """A changed text's line gets the old text, which the line of the part's id has as its name; that line goes."""
    if call.spec.verb != "update" or any(kind == call.entity for kind, _ in call.targets):
        return list(lines)
    part = next((line for line in lines if _names_part(line, call)), None)
    text = next((line for line in lines if line.field.upper() in _TEXTS and not line.before), None)
    if part is None or text is None:
        return list(lines)
    changed = text.model_copy(update={"before": part.after})
    return [changed if line is text else line for line in lines if line is not part]


def _names_part(line: PreviewLine, call: Call) -> bool:
    words = find_param_words(call.method, call.entity, line.field)
    return (
        words is not None and words.kind == "read" and words.detail.partition(" ")[0] == call.spec.before and not line.after.startswith("№")
    )
