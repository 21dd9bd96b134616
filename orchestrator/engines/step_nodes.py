"""The id of a step begins its nodes' names, but for the one that messages use."""

from typing import Final

_TAKEN: Final = "say"
_INSTEAD: Final = "_say"
"""No id begins with an underscore."""


def name_step_node(step: str) -> str:
    return _INSTEAD if step == _TAKEN else step


def find_step_id(node: str) -> str:
    first = node.partition("/")[0]
    return _TAKEN if first == _INSTEAD else first
