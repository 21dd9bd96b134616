"""Shows the text of a step with the blocks of its author and of a workflow inside, and no others."""

import re
from typing import Any, Final

from engines.scenarios.core.step_types import StepCall
from orchestrator.domain.outputs import Reply
from orchestrator.domain.taint import split_values
from orchestrator.engines.shared.block_marks import escape_marks, escape_value, join_pieces
from orchestrator.engines.shared.rendering import build_text_reply
from orchestrator.expressions.placeholders import SCENARIO, Template, format_value

_MARK: Final = re.compile(r"BLOCK[:\]]")


def build_shown_reply(call: StepCall[Any], text: str, *, below: str = "") -> Reply:
    """Show `text`, the filled parameter, and `below` it a text that draws nothing."""
    if _MARK.search(text):
        drawn = call.variables.with_blocks
        names = {name: value if name in drawn else escape_value(value) for name, value in call.variables.values.items()}
        text = format_value(split_values(Template(call.step.params["text"], SCENARIO).fill(names, join_pieces).data)[0])
    return build_text_reply(text + escape_marks(below))
