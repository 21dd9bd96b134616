"""Shows on a card how the text of a part of a record changes, such as a comment of a task: the old text and the new one. Pure."""

from collections.abc import Sequence
from typing import Final

from orchestrator.domain.card_view import PreviewLine
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.param_words import find_param_words

_TEXTS: Final = frozenset({"TITLE", "POST_MESSAGE", "COMMENT_TEXT", "COMMENT"})
"""Fields with the text of a part, which is also its name."""


def put_old_text(lines: Sequence[PreviewLine], call: Call) -> list[PreviewLine]:
    """Return the lines of a card; if the call changes the text of a part, such as a comment, its line also shows the old text.

    Among `lines`, the line with the part's id shows the part's name, which is its old text; this line is left out of the result. The lines
    are returned unchanged if the part could not be named, or if the call writes no text.
    """
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
