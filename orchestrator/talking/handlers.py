"""The inputs and buttons of talking, for the tables of the workers. Ring 2; bootstrap calls it once."""

from orchestrator import offering
from orchestrator.talking import edited, forwards, queueing
from orchestrator.talking.voice import Ear
from orchestrator.turns import Handlers


def talking(ear: Ear) -> Handlers:
    """Voice messages, edits, and the buttons under answers."""
    return Handlers(
        inbox={"voice": ear.heard, "edited": edited.noticed},
        presses={offering.PRESS: forwards.pressed, edited.PRESS: edited.again, queueing.PRESS: queueing.requeue},
    )
