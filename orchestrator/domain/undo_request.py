"""Taking changes back, asked for in words: what an engine asks of its turn, and what it is told."""

from collections.abc import Sequence
from typing import Final

from orchestrator.domain.frozen import View
from orchestrator.domain.outputs import Notice

FIND_UNDO: Final = "undo.find"
PROPOSE_UNDO: Final = "undo.propose"
UNDO_STEPS: Final = frozenset({FIND_UNDO, PROPOSE_UNDO})


class UndoRequest(View):
    """The person's own changes of `record` ("deal:481"), since a moment (ISO), or with one of the ids; else those of the last plan."""

    record: str = ""
    since: str = ""
    changes: Sequence[str] = ()


class OwnChange(View):
    """`label` is for the person's list, the rest for the model: no values, which anybody may have written."""

    change: str
    when: str
    did: str
    record: str = ""
    title: str = ""
    fields: Sequence[str] = ()
    undone: bool = False
    label: str = ""


class UndoAnswer(View):
    """`notices` say to the person what cannot be taken back, and why; `cards` are confirmations that now wait."""

    changes: Sequence[OwnChange] = ()
    cards: Sequence[str] = ()
    notices: Sequence[Notice] = ()
    left_out: int = 0
    """Further changes, for another time."""
