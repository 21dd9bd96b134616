"""Builds the core of the program from the settings: the orchestrator, its clients and its store (composition root).

`process.py` adds the doors, the ways to talk to the product (Telegram, HTTP API).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial as partial_of
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pydantic import SecretStr

from bitrix.catalogue.catalogue import Catalogue, load_catalogue
from bitrix.client.client import KEEPALIVE_SECONDS, MAX_CONNECTIONS, BitrixClient
from bitrix.limits.limiter import Limiter
from bitrix.limits.plan import parse_plan
from bitrix.limits.shared_level import SharedLevel
from bitrix.masking import SecretMask
from bot.access.portal_auth import build_portal_auth
from bot.composition.agent_texts import AgentTexts, load_agent_texts
from bot.composition.crm_agent import build_agent, build_queries
from bot.composition.features import Ports, build_features
from bot.composition.http_transport import build_transport
from bot.composition.model_providers import build_model_settings, build_providers
from bot.composition.outside import build_downloader, build_file_reader
from bot.composition.people import NOBODY, Members
from bot.composition.title_search import TitleSearch
from bot.composition.tool_services import build_service_clients, build_tool_agent
from bot.monitoring.reachability import PortalLimits, ReachabilityTracker
from bot.plugins.building import connect_engines, load_installed_engines
from bot.plugins.wiring import EnginePorts
from bot.settings.http_credentials import load_http_credentials
from bot.settings.loading import hide_secrets
from bot.settings.model_plan import ProviderSpec
from bot.settings.settings import Settings
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.chat_messages import ChatMessenger
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.http_address import is_listed, parse_listed_site
from orchestrator.domain.http_credential import HttpCredential
from orchestrator.domain.shelf import DocumentShelf
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.features.budgets.change_counter import OVERLAP, JournalChangeCounter
from orchestrator.features.budgets.model_budget import MonthlyModelBudget, UsageReader
from orchestrator.features.console.handlers import SignLink
from orchestrator.features.freezing.freeze_switch import LiveSwitch
from orchestrator.features.history.reader import HistoryData, HistoryReader
from orchestrator.features.leads.approvers import LeadApprovers
from orchestrator.features.leads.policy_news import PolicyWatcher
from orchestrator.features.people.staff import Employees
from orchestrator.features.portal_events.news import Audience
from orchestrator.features.portal_events.watcher import PortalWatcher
from orchestrator.features.talking.voice import VoiceInput
from orchestrator.gate.call.gate_deps import PolicySource
from orchestrator.gate.call.policy import Policy, check_policy, load_policy
from orchestrator.gate.call.ports import Performer
from orchestrator.gate.decide.policy_reload import LivePolicy
from orchestrator.gate.gate import Gate
from orchestrator.model_client.providers import WireClient
from orchestrator.model_client.router import ModelRouter
from orchestrator.model_client.transcribe import Transcriber
from orchestrator.performers.bitrix import BitrixPerformer
from orchestrator.performers.files.folder import Folder
from orchestrator.performers.files.performer import FilePerformer
from orchestrator.performers.http import HttpPerformer
from orchestrator.performers.knowledge import KnowledgePerformer
from orchestrator.performers.schedule import SchedulePerformer
from orchestrator.performers.telegram import TelegramPerformer
from orchestrator.replies.text_guard import TextGuard
from orchestrator.runs.offers import StartableOffers
from orchestrator.runs.registry import Engines
from orchestrator.runs.stored_definitions import add_stored_definitions
from orchestrator.runs.titles import find_published_title
from orchestrator.runtime.worker import Orchestrator, TellTrouble
from orchestrator.schedules.checks import StartChecker
from orchestrator.services.document_client import DocumentClient
from orchestrator.services.http_client import ServiceClients
from orchestrator.sessions.audit import Audit
from orchestrator.sessions.paid_models import ATTACHED_MODELS
from orchestrator.turns.feature import Feature, Files, RefreshActor, ShowPartial, Tools, merge_features
from state.audit_log.interaction_log import InteractionLogger
from state.clock import Clock, SystemClock, read_boottime
from state.journal.async_store import AsyncStore
from state.trace import build_trace_headers

if TYPE_CHECKING:  # not every installation has documents
    from orchestrator.services.rag.building import EmbeddedRag

PROBE = 5.0
"""Seconds that a probe of the portal (a harmless call that shows whether it answers) may wait in the queue before it is sent."""
DATA = Path(__file__).resolve().parents[2] / "data"


@runtime_checkable
class Closing(Protocol):
    """A client with connections of its own, which are closed when the program stops."""

    async def aclose(self) -> None:
        """Close them."""


def build_orchestrator(  # noqa: PLR0913 - as `build_from_clients`
    settings: Settings,
    store: AsyncStore,
    *,
    trouble: TellTrouble,
    partial: ShowPartial,
    clock: Clock | None = None,
    present: RefreshActor = lambda actor: actor,
    audience: Audience = NOBODY,
    members: Members | None = None,
    files: Files | None = None,
    ears: ReachabilityTracker | None = None,
    engines: Engines | None = None,
    messenger: ChatMessenger | None = None,
    documents: "EmbeddedRag | None" = None,
    sign_link: SignLink | None = None,
) -> tuple[Orchestrator, list[Closing]]:
    """Build the orchestrator; return it and the list of clients that the caller must close after stopping it.

    The orchestrator calls `trouble` to tell a session that nothing can be stored, and `partial` to show a session the progress of its
    running turn (processing of a message). `present` returns an actor with the rights that the person has now. `members` finds all people
    who use the bot, `audience` those who want notices of changes to their records, and `files` downloads what people send. `ears` records
    how each call to the portal and to the model ended. `engines` are those of runs (executions of scenarios, flows and workflows).
    `messenger` sends the messages of effects, `documents` is a started service of documents in this process, and `sign_link` signs links of
    the console. Raises SettingsError for missing settings (S004-67).
    """
    clock, ears = clock or SystemClock(), ears or ReachabilityTracker()
    auth = build_portal_auth(settings, store, clock.now)
    limiter = _build_limiter(settings, store, auth.portal, clock, ears)
    client = BitrixClient(
        auth,
        limiter=limiter,
        transport=build_transport(auth.base_url, connections=MAX_CONNECTIONS, kept=KEEPALIVE_SECONDS),
        operating_limit=settings.bitrix_operating_limit,
        now=clock.now,
        headers=build_trace_headers,
        heard=ears.record_portal_call,
    )
    models = build_providers(settings, heard=ears.record_model_call, observe=ears.record_provider_call)
    ears.breakers = {name: route.breaker for name, route in models.router.routes.items()}
    ears.limits = lambda: PortalLimits(
        requests=limiter.describe(), methods=client.list_spent_times(), seconds=settings.bitrix_operating_limit
    )
    ears.portal.probe = partial_of(client.call, "server.time", {}, repeatable=True, send_within=PROBE)
    ears.model.probe = models.probe
    speech = settings.openai_transcribe_model
    services = build_service_clients(settings, ATTACHED_MODELS, documents=documents)
    scripts = ScriptRunner()
    hearing = Transcriber(build_model_settings(ProviderSpec(kind="openai"), settings), speech) if speech else None
    made = build_from_clients(
        settings,
        store,
        client,
        models.router,
        trouble=trouble,
        partial=partial,
        clock=clock,
        present=present,
        audience=audience,
        members=members,
        ear=VoiceInput(files=files, transcriber=hearing) if files else None,
        files=files,
        engines=engines,
        messenger=messenger,
        services=services,
        shelf=documents.shelf if documents is not None else None,
        scripts=scripts,
        sign_link=sign_link,
    )
    performers = [one for one in made.tools.gate.deps.performers.values() if isinstance(one, Closing)]
    return made, [client, *models.clients.values(), limiter, services, scripts, *([hearing] if hearing else []), *performers]


def build_from_clients(  # noqa: PLR0913 - the composition root: each is one wire to the outside
    settings: Settings,
    store: AsyncStore,
    client: BitrixClient,
    model: WireClient | ModelRouter,
    *,
    trouble: TellTrouble,
    partial: ShowPartial,
    clock: Clock,
    present: RefreshActor = lambda actor: actor,
    audience: Audience = NOBODY,
    members: Members | None = None,
    ear: VoiceInput | None = None,
    files: Files | None = None,
    engines: Engines | None = None,
    messenger: ChatMessenger | None = None,
    services: ServiceClients | None = None,
    shelf: DocumentShelf | None = None,
    scripts: ScriptRunner | None = None,
    sign_link: SignLink | None = None,
) -> Orchestrator:
    """Build the orchestrator with the given portal client and router to models, or client of a single one.

    `ear` handles voice messages; without it they are not handled. `files` downloads the files that people send. `services` are those that
    the tool agent asks; by default they are built from the settings. `shelf` is the folder of documents of a service in this process.
    `scripts` is the sandbox of workflows, which the caller closes; without it one is made whose processes end with the program. The other
    arguments are those of `build_orchestrator`, which calls this function. Benchmarks and tests call it with clients that have transports
    of their own.
    """
    engines = load_installed_engines() if engines is None else engines
    policy, catalogue = load_rules(settings, engines)
    models = model if isinstance(model, ModelRouter) else ModelRouter.from_client(model, model=settings.openai_model)
    services = services or build_service_clients(settings, ATTACHED_MODELS)
    watch = PolicyWatcher()
    live = LivePolicy(settings.policy_file, catalogue, policy=policy, tell=watch.add_news, kinds=engines.kinds)
    reads = PortalReader(client, catalogue, clock)
    naming = Naming(reads)
    core = _Core(
        settings=settings,
        store=store,
        clock=clock,
        catalogue=catalogue,
        live=live,
        reads=reads,
        naming=naming,
        present=present,
        members=members,
        documents=DocumentClient(services, top_k=settings.param_rag_top_k),
        http=_build_http(load_http_credentials(settings), live),
        folder=Folder(settings.files_dir) if settings.files_dir is not None else None,
        switch=LiveSwitch(store),
        texts=load_agent_texts(DATA / "agent"),
    )
    engines = _connect_engines(core, engines, scripts or ScriptRunner())
    ports = Ports(
        reads,
        naming,
        store,
        PortalWatcher(reads, naming, store, clock, audience=audience, present=present),
        core.switch,
        members,
        ear,
        engines=engines,
        files=files,
        shelf=shelf,
        run_retention=timedelta(days=settings.run_retention_days),
        sign_link=sign_link,
    )
    watched = Feature(frequent_tasks=(partial_of(watch.run, live),))
    employees = Employees(reads.reference, naming)
    tools = Tools(
        store=store,
        gate=_build_gate(core, client, engines, messenger),
        model=models,
        engines={
            "crm_agent": build_agent(settings, catalogue, live, core.texts),
            "tool_agent": build_tool_agent(settings, services, tells_asker="rag" in services.believed),
        },
        queries={
            **build_queries(reads, naming, clock, live),
            "startable": StartableOffers(engines, store).list_startable,
            "employees": employees.list_working,
            "employee": employees.read_employee,
        },
        audit=Audit(InteractionLogger(settings.log_dir, clock=clock), clock),
        mode=settings.agent_mode,
        show_partial=partial,
        guard=TextGuard(
            hosts=frozenset({client.portal}) | {parse_listed_site(entry).host for entry in policy.http_hosts},
            secrets=SecretMask(hide_secrets(settings)),
        ),
        refresh_actor=present,
        model_budget=MonthlyModelBudget(live, UsageReader(store)),
        features=merge_features(build_features(ports, DATA), watched),
    )
    return Orchestrator(tools, clock, trouble=trouble)


@dataclass(frozen=True, kw_only=True)
class _Core:
    """What several parts of one orchestrator have in common."""

    settings: Settings
    store: AsyncStore
    clock: Clock
    catalogue: Catalogue
    live: LivePolicy
    reads: PortalReader
    naming: Naming
    present: RefreshActor
    members: Members | None
    documents: DocumentClient
    http: HttpPerformer
    folder: Folder | None
    switch: LiveSwitch
    texts: AgentTexts


def _connect_engines(core: _Core, engines: Engines, scripts: ScriptRunner) -> Engines:
    """Return the engines with stored definitions, and with what each asks of the services."""
    ports = EnginePorts(
        settings=core.settings,
        store=core.store,
        policies=core.live,
        catalogue=core.catalogue,
        naming=core.naming,
        find_documents=core.documents.ask,
        read_file=build_file_reader(core.folder, core.live),
        download=build_downloader(core.http, core.live),
        scripts=scripts,
    )
    stored = add_stored_definitions(engines, core.store)
    return replace(stored, runs=connect_engines(stored.runs, ports))


def _build_gate(core: _Core, client: BitrixClient, engines: Engines, messenger: ChatMessenger | None) -> Gate:
    """Return the gate with the performers of all kinds of effects that the settings allow."""
    settings, store, clock, members, present = core.settings, core.store, core.clock, core.members, core.present
    histories = HistoryReader(store, HistoryData(catalogue=core.catalogue, names=core.naming, records=core.reads), clock, present)
    return Gate(
        catalogue=core.catalogue,
        policy=core.live,
        approvers=LeadApprovers(members, clock.now) if members else None,
        switch=core.switch,
        tally=JournalChangeCounter(store, overlap=OVERLAP if settings.database_url else timedelta(seconds=1)),
        performers={
            "bitrix": BitrixPerformer(client, core.reads),
            "schedule": SchedulePerformer(store, clock, StartChecker(engines, present), partial_of(find_published_title, engines=engines)),
            "http": core.http,
            "knowledge": KnowledgePerformer(core.catalogue, core.live, core.texts.help, histories, core.documents),
            **_build_mongo(settings),
            **_build_files(core.folder, core.live, members, messenger, store),
        },
        records=core.reads,
        names=core.naming,
        ttl=settings.confirmation_ttl,
        present=present,
    )


def open_title_search(settings: Settings, webhook: SecretStr) -> TitleSearch:
    """Return a search over the portal of a webhook, beside a running bot: it uses no database. Raises SettingsError."""
    plan = parse_plan(settings.bitrix_plan)
    try:
        client = BitrixClient(webhook, limiter=Limiter(plan.rate, plan.burst))
    except ValueError as error:
        raise SettingsError(f"BITRIX_WEBHOOK_URL: {error}") from None
    return TitleSearch(PortalReader(client, load_rules(settings, load_installed_engines())[1], SystemClock()), close=client.aclose)


def _build_http(credentials: Mapping[str, HttpCredential], policies: PolicySource) -> HttpPerformer:
    """Return the performer of http effects; it opens connections only to hosts that the policy lists when the call is made."""
    return HttpPerformer(credentials=credentials, may_be_private=lambda site: is_listed(site, policies.now().http_private_hosts))


def _build_mongo(settings: Settings) -> dict[str, Performer]:
    """Return the performer of mongo effects, if a database is set. Its connection opens with the first call."""
    if settings.mongo_url is None:
        return {}
    from orchestrator.performers.mongo import MongoPerformer  # noqa: PLC0415  # the driver takes a while to load
    from orchestrator.performers.mongo_connection import MongoConnection  # noqa: PLC0415  # see above

    return {"mongo": MongoPerformer(MongoConnection(settings.mongo_url.get_secret_value()))}


def _build_files(
    folder: Folder | None, policies: PolicySource, members: Members | None, messenger: ChatMessenger | None, store: AsyncStore
) -> dict[str, Performer]:
    """Return the performers of file effects, if there is a `folder` (FILES_DIR), and of messages to chats, if there is a messenger."""
    found: dict[str, Performer] = {} if folder is None else {"file": FilePerformer(folder)}
    if messenger is not None and members is not None:
        found["telegram"] = TelegramPerformer(messenger, members, policies, folder, store.load_blob)
    return found


def load_rules(settings: Settings, engines: Engines) -> tuple[Policy, Catalogue]:
    """Return the company's policy, and the catalogue of portal methods with the policy's additions.

    Raises SettingsError if the policy is invalid, or names methods, fields or kinds of definitions that there are not with these engines.
    """
    policy = load_policy(settings.policy_file)
    catalogue = load_catalogue(DATA / "catalogue", [row.model_dump() for row in policy.catalogue])
    if faults := check_policy(policy, catalogue, kinds=engines.kinds):
        raise SettingsError("POLICY_FILE: " + "; ".join(faults))
    return policy, catalogue


def _build_limiter(settings: Settings, store: AsyncStore, portal: str, clock: Clock, ears: ReachabilityTracker) -> Limiter:
    """Build the rate limiter of calls to `portal`; it counts the calls of all processes together, in a counter that is kept in `store`.

    All clients of a process must use the same limiter, because the portal counts their calls together. `ears` records how long each call
    waits.
    """
    plan = parse_plan(settings.bitrix_plan)
    return Limiter(plan.rate, plan.burst, shared=SharedLevel(store, portal, now=clock.now), clock=read_boottime, waited=ears.record_wait)
