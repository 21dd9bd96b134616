"""A plan with several waiting steps, and the card that shows it."""

from collections.abc import Mapping, Sequence
from typing import Any

from bot.i18n.translate import Translator
from bot.rendering.kinds import render_message
from bot.rendering.spans import to_plain_text
from orchestrator.gate.approve.confirmations import calculate_second_nonce
from state.journal.store import InboxRow, OutboxRow
from tests.unit.spine_kit import CHAT, World, message, press, raise_sum, reply, step

THREE = (raise_sum(1_100_000), raise_sum(60_000, deal=482), step("tasks.task.add", {"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": 8}}))
"""Two sums, and a task for a colleague: each of them asks."""
RU = Translator("ru")


async def ask_plan(world: World, *steps: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """The card of one plan with these steps, as the requester's chat shows it."""
    world.model.will(reply(*(steps or THREE), text="Прошу подтвердить."))
    await world.work(message("сделай всё это", **more))
    return show(world)


def show(world: World, chat: str = CHAT) -> dict[str, Any]:
    """The last card that the chat got; takes everything off the outbox."""
    return last_card(world.outbox(), chat)


def last_card(rows: Sequence[OutboxRow], chat: str = CHAT) -> dict[str, Any]:
    return dict([row.body for row in rows if row.kind == "card" and row.session == chat][-1])


def press_second(plan: Mapping[str, Any], **more: Any) -> InboxRow:
    """The second of two taps."""
    return press({**plan, "nonce": calculate_second_nonce(str(plan["nonce"]))}, **more)


def statuses(plan: Mapping[str, Any]) -> list[str]:
    return [one["status"] for one in plan["members"]]


def read(body: Mapping[str, Any], kind: str = "card", tr: Translator = RU) -> str:
    """The message as a person reads it."""
    return to_plain_text(render_message(kind, body, tr))


def approved(world: World) -> list[str]:
    """The cards that were approved, in the order of their approvals."""
    return [event.data["confirmation_id"] for event in world.events("ConfirmationApproved")]
