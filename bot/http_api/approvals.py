"""The endpoints beside /chat, put together: confirmations, what happened in a session, the audit. Ring 3."""

from collections.abc import Sequence

from fastapi import APIRouter

from bot.http_api.audit import audit
from bot.http_api.confirmations import confirmations
from bot.http_api.desk import Desk
from bot.http_api.session_events import session_events
from orchestrator.workers import Orchestrator
from state.clock import Clock


def approvals(orchestrator: Orchestrator, clock: Clock) -> Sequence[APIRouter]:
    """The routers; they read the store of that orchestrator and hand decisions in to it."""
    desk = Desk(orchestrator, clock)
    return [confirmations(desk), session_events(desk), audit(desk)]
