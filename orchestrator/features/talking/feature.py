"""Registers the talking feature: /stop, voice and edited messages, direct answers, and buttons under forwarded and edited messages."""

from functools import partial

from orchestrator.features.talking import button_requests, direct_answers, stop_queue
from orchestrator.features.talking.voice import VoiceInput
from orchestrator.replies import code_notes
from orchestrator.runtime.feature import Feature


def build_feature(ear: VoiceInput | None = None) -> Feature:
    """Return the talking feature. `ear` handles voice messages; without it they have no handler."""
    answer = partial(direct_answers.send_answer, hears=ear is not None and ear.transcriber is not None)
    return Feature(
        inbox={"answer": answer, "edited": button_requests.offer_edited, **({"voice": ear.receive_voice} if ear else {})},
        commands={"stop": stop_queue.stop},
        buttons={
            code_notes.FORWARD_BUTTON: button_requests.create_from_forward,
            button_requests.EDITED_BUTTON: button_requests.run_edited,
            stop_queue.PRESS: stop_queue.restore_dropped,
        },
    )
