"""All routers. Imported when the port is served: it takes FastAPI."""

from collections.abc import Sequence

from fastapi import APIRouter

from bot.definition_service import build_definition_service
from bot.http_api.approvals.confirmations import build_confirmations_router
from bot.http_api.approvals.freeze import build_freeze_router
from bot.http_api.audit.audit_trail import build_audit_router
from bot.http_api.audit.session_events import StreamReader, build_session_events_router
from bot.http_api.chat.mailbox import InputBatcher, Mailbox
from bot.http_api.chat.request_body import BodyReader, Overrides
from bot.http_api.chat.responses import ChatContext
from bot.http_api.chat.router import build_chat_router
from bot.http_api.definitions.router import build_definitions_router
from bot.http_api.engine_face import build_engine_routers
from bot.http_api.runs.router import build_runs_router
from bot.http_api.schedules.router import build_schedules_router
from bot.http_api.server.endpoint_context import EndpointContext
from bot.settings.settings import Settings
from orchestrator.runs.registry import Engines
from orchestrator.runs.stored_definitions import add_stored_definitions
from orchestrator.runtime.worker import Orchestrator
from state.clock import Clock


def build_api_routers(
    settings: Settings, orchestrator: Orchestrator, mailbox: Mailbox, clock: Clock, engines: Engines
) -> Sequence[APIRouter]:
    """`engines` are those whose runs may be started (S004-67)."""
    chat = ChatContext(
        orchestrator=orchestrator,
        mailbox=mailbox,
        overrides=Overrides(
            allowed=settings.http_allow_overrides,
            mode=settings.agent_mode,
            folders={"state_dir": settings.state_dir, "log_dir": settings.log_dir},
        ),
        clock=clock,
        answer_within=settings.http_answer_within.total_seconds(),
        reader=BodyReader(),
        intake=InputBatcher(orchestrator.receive),
    )
    switch = orchestrator.tools.gate.deps.switch
    return [build_chat_router(chat), *build_read_routers(orchestrator, clock, engines), build_freeze_router(switch, clock)]


def build_read_routers(orchestrator: Orchestrator, clock: Clock, engines: Engines) -> Sequence[APIRouter]:
    """Those that read the database; some also store orders and decisions. Runs of `engines` may be started."""
    desk = EndpointContext(orchestrator, clock)
    reading = StreamReader(desk)
    stored = add_stored_definitions(engines, desk.store)
    deps = orchestrator.tools.gate.deps
    definitions = build_definition_service(
        desk.store,
        engines,
        policies=deps.policies,
        catalogue=lambda: deps.catalogue,
        clock=clock,
        find_reference=lambda: deps.records.reference,
    )
    own = [
        build_confirmations_router(desk),
        build_session_events_router(desk, reading),
        build_audit_router(desk),
        build_runs_router(desk, reading, stored),
        build_schedules_router(desk, stored),
        build_definitions_router(definitions),
    ]
    return [*own, *build_engine_routers(desk, reading, stored, definitions, own)]
