"""A lead or a task out of a message of somebody else, in one tap: the wish is ours, the message stays foreign text. Ring 2."""

from orchestrator.asked import wake
from orchestrator.messages import Notice
from orchestrator.offering import FORWARD_REQUESTS
from orchestrator.session import Session
from orchestrator.talking import answering
from orchestrator.turns import Tools, admit_actor
from state.store import InboxRow

FORWARD_TEXTS = {
    "lead": {
        "ru": "Заведи лид по пересланному сообщению: имя, телефон, почта и что нужно клиенту — из него.",
        "en": "Make a lead from the forwarded message: name, phone, e-mail and what the client needs are in it.",
    },
    "task": {
        "ru": "Создай мне задачу по пересланному сообщению: что нужно сделать — из него.",
        "en": "Make a task for me from the forwarded message: what is to be done is in it.",
    },
}
"""What the person says with the press; nothing of the message goes into it."""


async def create_from_forward(row: InboxRow, session: Session, tools: Tools) -> None:
    """Make of the message what the button says, once. Raises StoreError."""
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    _, turn_id, wish = (*row.body["words"], "", "")[:3]
    events = await answering.read_recent_events(session, tools)
    said = next((item for item in events if item.type == "MessageReceived" and item.data["turn_id"] == turn_id), None)
    if said is None or not said.data.get("quoted") or wish not in FORWARD_REQUESTS or said.actor != actor.key:
        code = "toast-not-yours" if said is not None and said.actor != actor.key else "toast-forward-gone"
        told = answering.build_toasts(row, session, Notice(code=code))
        await session.commit(actor=actor.key, outbox=told, inbox_done=[row.id])
        return
    body = {"text": FORWARD_TEXTS[wish][actor.locale], "quoted": said.data["quoted"], "origin": "button"}
    made = answering.build_request(row, session, body, slot=f"forward/{turn_id}/{wish}")
    again = await answering.is_made(made, session, tools)
    told = answering.build_toasts(row, session, Notice(code="toast-already" if again else "toast-doing"))
    await session.commit(actor=actor.key, outbox=told, inbox_done=[row.id], inbox_new=[] if again else [made])
    wake(tools.store)
