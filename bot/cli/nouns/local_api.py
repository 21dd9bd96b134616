"""The API in this process for the local user, without a port, a token or a bot; orders are stored as inputs for one.

Only here a caller is known without a token.
"""

import getpass
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import httpx
from fastapi import APIRouter, FastAPI
from starlette.requests import Request

from bitrix.answers import Answer
from bitrix.catalogue.catalogue import Catalogue, load_catalogue
from bitrix.errors import NotSent
from bitrix.masking import hide_installed
from bot.access.access import Access, load_access
from bot.cli.inputs import check_person
from bot.cli.ops import open_database_reader, open_database_writer
from bot.definition_service import build_definition_service, list_known_kinds
from bot.http_api.approvals.confirmations import build_confirmations_router
from bot.http_api.audit.audit_trail import build_audit_router
from bot.http_api.audit.session_events import StreamReader, build_session_events_router
from bot.http_api.runs.router import build_runs_router
from bot.http_api.schedules.router import build_schedules_router
from bot.http_api.server.authentication import Authenticator
from bot.http_api.server.endpoint_context import EndpointContext
from bot.http_api.server.error_handlers import explain_errors
from bot.http_api.server.tokens import PREFIX, Client, Tokens, read_tokens
from bot.settings.loading import load_settings
from bot.settings.settings import Settings
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.actor import Actor
from orchestrator.domain.errors import SettingsError
from orchestrator.features.budgets.change_counter import JournalChangeCounter
from orchestrator.features.freezing.freeze_switch import LiveSwitch
from orchestrator.features.leads.approvers import LeadApprovers
from orchestrator.features.leads.live_policy import FixedPolicy
from orchestrator.gate.bulk.stored_files import StoredBulkFiles
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.policy import SHIPPED, Policy, check_policy, load_policy
from orchestrator.rehearsals.call_forms import CallForms
from orchestrator.runs.registry import Engines
from orchestrator.runs.stored_definitions import add_stored_definitions
from orchestrator.sessions.run_progress import RunProgress
from state.clock import SystemClock
from state.journal.async_store import AsyncStore
from state.journal.store import InboxRow

if TYPE_CHECKING:  # only what is asked for is imported: a command is a process of its own
    from orchestrator.runtime.worker import Orchestrator

_NO_PORTAL: Final = "this command asks no portal"


class _NoPortal:
    """What the routers read of the gate's services asks no portal."""

    portal = base_url = ""

    async def call(self, *_given: object, **_options: object) -> Answer:
        raise NotSent(_NO_PORTAL)


class _LateCatalogue(Catalogue):
    """Read when something is looked up in it, which most commands do not."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def __getattr__(self, name: str) -> Any:
        if name not in {"entities", "_methods"}:
            raise AttributeError(name)
        vars(self).update(vars(load_catalogue(SHIPPED.parent / "catalogue", [row.model_dump() for row in self._policy.catalogue])))
        return vars(self)[name]


@dataclass(frozen=True, kw_only=True)
class _LocalGate:
    """It carries nothing out."""

    deps: GateDeps


@dataclass(frozen=True, kw_only=True)
class _LocalTools:
    store: AsyncStore
    gate: _LocalGate
    refresh_actor: Callable[[Actor], Actor | None]
    progress: RunProgress = field(default_factory=RunProgress)


@dataclass(frozen=True, kw_only=True)
class _LocalOrchestrator:
    """It only stores inputs."""

    tools: _LocalTools
    listeners: list[Callable[[], None]] = field(default_factory=list)

    async def receive(self, rows: Sequence[InboxRow]) -> list[bool]:
        return list((await self.tools.store.put_inbox([replace(row, body=hide_installed(row.body)) for row in rows])).fresh)


class _LocalIdentity(Authenticator):
    """Every caller is the same client."""

    def __init__(self, client: Client) -> None:
        super().__init__(Tokens([]))
        self._client = client

    def check(self, request: Request, presented: str | None) -> Client:
        del request, presented
        return self._client


@asynccontextmanager
async def open_local_api(
    noun: str,
    engines: Engines,
    *,
    reads: bool,
    person: str = "",
    within: float | None = None,
    language: Literal["ru", "en"] = "en",
) -> AsyncIterator[httpx.AsyncClient]:
    """As an administrator, or as `person`; `within` is how long orders wait for a bot. Raises SettingsError."""
    settings = load_settings()
    policy = load_policy(settings.policy_file)
    catalogue = _LateCatalogue(policy)
    if not reads and (faults := check_policy(policy, catalogue, kinds=list_known_kinds(settings, engines, policy))):
        raise SettingsError("POLICY_FILE: " + "; ".join(faults))
    async with AsyncExitStack() as stack:
        store = AsyncStore(stack.enter_context(open_database_reader(settings) if reads else open_database_writer(settings)))
        stack.push_async_callback(store.aclose)
        backing = _build_backing(settings, policy, catalogue, store, await _load_access(settings, store))
        client = _build_client(person, backing.tools.refresh_actor, language)
        desk = EndpointContext(cast("Orchestrator", backing), SystemClock(), within=within)
        if noun == "definitions":
            from bot.composition.portal import open_call_forms  # noqa: PLC0415 - only definitions ask the portal what it knows

            forms = await stack.enter_async_context(open_call_forms(settings, lambda: catalogue))
            router = _build_definitions(desk, engines, forms)
        else:
            router = _build_router(noun, desk, engines)
        app = FastAPI()
        app.state.identity = _LocalIdentity(client)
        app.router.routes.extend(router.routes)  # to include the router would build each of its routes a second time
        explain_errors(app)
        yield await stack.enter_async_context(httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://local"))


def _build_backing(settings: Settings, policy: Policy, catalogue: Catalogue, store: AsyncStore, access: Access) -> _LocalOrchestrator:
    """What the routers ask of an orchestrator, and no more."""
    tokens, clock = Tokens(read_tokens(settings.http_api_tokens, settings.agent_mode), access.find_grant), SystemClock()
    nothing = PortalReader(_NoPortal(), catalogue, clock)

    def refresh_actor(actor: Actor) -> Actor | None:
        return tokens.refresh_actor(actor) if actor.key.startswith(PREFIX) else access.refresh_actor(actor)

    deps = GateDeps(
        catalogue=catalogue,
        policies=FixedPolicy(policy),
        performers={},
        records=nothing,
        names=Naming(nothing),
        ttl=settings.confirmation_ttl,
        present=refresh_actor,
        approvers=LeadApprovers(access, clock.now),
        change_counter=JournalChangeCounter(store),
        bulk=StoredBulkFiles(store),
        switch=LiveSwitch(store),
    )
    return _LocalOrchestrator(tools=_LocalTools(store=store, gate=_LocalGate(deps=deps), refresh_actor=refresh_actor))


def _build_definitions(desk: EndpointContext, engines: Engines, forms: CallForms) -> APIRouter:
    from bot.http_api.definitions.router import build_definitions_router  # noqa: PLC0415 - as in open_local_api

    deps = desk.orchestrator.tools.gate.deps
    return build_definitions_router(
        build_definition_service(
            desk.store,
            engines,
            policies=deps.policies,
            catalogue=lambda: deps.catalogue,
            clock=desk.clock,
            find_reference=forms.find_reference,
        )
    )


def _build_router(noun: str, desk: EndpointContext, engines: Engines) -> APIRouter:
    stored, streams = add_stored_definitions(engines, desk.store), StreamReader(desk)
    builders: Mapping[str, Callable[[], APIRouter]] = {
        "runs": lambda: build_runs_router(desk, streams, stored),
        "schedules": lambda: build_schedules_router(desk, stored),
        "confirmations": lambda: build_confirmations_router(desk),
        "audit": lambda: build_audit_router(desk),
        "sessions": lambda: build_session_events_router(desk, streams),
    }
    return builders[noun]()


async def _load_access(settings: Settings, store: AsyncStore) -> Access:
    """As far as they can be read: a command needs no names and rights."""
    try:
        access = load_access(settings.access_file)
    except SettingsError:
        access = Access([])
    await access.load_registry(store)
    return access


def _build_client(person: str, refresh_actor: Callable[[Actor], Actor | None], language: Literal["ru", "en"]) -> Client:
    user = getpass.getuser()
    local = Actor(key=f"cli:{user}", name=user, role="admin", sees="all", locale=language)
    if not person:
        return Client(name=user, actor=local, digest=b"", via="cli", has_own_words=True)
    check_person(person)
    caller = Actor(key=person, name=person)
    actor = refresh_actor(caller) or caller  # one whom this installation does not know is refused by the bot
    return Client(name=user, actor=actor, digest=b"", via="cli", has_own_words=True, helper=local)
