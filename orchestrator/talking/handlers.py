"""The inputs and buttons of talking, for the tables of the workers. Ring 2; bootstrap calls it once."""

from orchestrator import offering
from orchestrator.talking import edited, forwards, queueing
from orchestrator.talking.voice import VoiceInput
from orchestrator.turns import Handlers


def build_handlers(ear: VoiceInput) -> Handlers:
    """Voice messages, edits, and the buttons under answers."""
    return Handlers(
        inbox={"voice": ear.receive_voice, "edited": edited.offer_edited},
        buttons={
            offering.FORWARD_BUTTON: forwards.create_from_forward,
            edited.EDITED_BUTTON: edited.run_edited,
            queueing.PRESS: queueing.restore_dropped,
        },
    )
