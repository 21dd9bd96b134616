"""The endpoints beside /chat, put together: confirmations, what happened in a session, the audit. Ring 3."""

from collections.abc import Sequence

from fastapi import APIRouter

from bot.http_api.audit import build_audit_router
from bot.http_api.confirmations import build_confirmations_router
from bot.http_api.desk import EndpointContext
from bot.http_api.session_events import build_session_events_router
from orchestrator.workers import Orchestrator
from state.clock import Clock


def build_read_routers(orchestrator: Orchestrator, clock: Clock) -> Sequence[APIRouter]:
    """The routers; they read the store of that orchestrator and hand decisions in to it."""
    desk = EndpointContext(orchestrator, clock)
    return [build_confirmations_router(desk), build_session_events_router(desk), build_audit_router(desk)]
