"""The handlers of inputs and buttons of conversations, for the tables of the workers. Bootstrap calls it once."""

from orchestrator.features.talking import button_requests, stop_queue
from orchestrator.features.talking.voice import VoiceInput
from orchestrator.replies import code_notes
from orchestrator.runtime.turn import Handlers


def build_handlers(ear: VoiceInput) -> Handlers:
    """Return the handlers of voice messages, edits, and the buttons under answers."""
    return Handlers(
        inbox={"voice": ear.receive_voice, "edited": button_requests.offer_edited},
        buttons={
            code_notes.FORWARD_BUTTON: button_requests.create_from_forward,
            button_requests.EDITED_BUTTON: button_requests.run_edited,
            stop_queue.PRESS: stop_queue.restore_dropped,
        },
    )
