"""What one press asks for: first examples, and what to make of text of others that came without a word about it. Ring 2, pure."""

from typing import Final

from orchestrator.engines.base import TurnInput
from orchestrator.messages import Action, Mode, Notice, Reply

FORWARD_BUTTON: Final = "forward"
FORWARD_REQUESTS: Final = ("lead", "task")
"""What one press makes of it."""


def list_examples(mode: Mode) -> tuple[str, ...]:
    """Requests to begin with; none that would read in the mode in which nothing is sent, reads neither (S004-38)."""
    return ("example-task",) if mode == "shadow" else ("example-deals", "example-task", "example-sum")


def add_forward_buttons(reply: Reply, turn: TurnInput) -> Reply:
    """The reply with its buttons, where the person has not said yet what they want; a reply that asks something itself stays as it is."""
    if turn.text or not turn.quoted or turn.origin not in {"typed", "voice"} or reply.choices or reply.confirmations:
        return reply
    made = tuple(Action(words=(FORWARD_BUTTON, turn.turn_id, wish), label=Notice(code=f"button-make-{wish}")) for wish in FORWARD_REQUESTS)
    return reply.model_copy(update={"actions": (*reply.actions, *made)})
