"""Names the nodes of steps: the id of a step is the first part, but for the id under which a run keeps its messages."""

from typing import Final

_TAKEN: Final = "say"
_INSTEAD: Final = "_say"
"""No id of a step begins with an underscore."""


def name_step_node(step: str) -> str:
    """Return the first part of the names of a step's nodes."""
    return _INSTEAD if step == _TAKEN else step


def find_step_id(node: str) -> str:
    """Return the id of the step to which a node belongs."""
    first = node.partition("/")[0]
    return _TAKEN if first == _INSTEAD else first
