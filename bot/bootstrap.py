"""The one composition root: settings in, a working product out. Only this file names concrete parts of every ring. Ring 3."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime, timedelta
from functools import partial as partial_of
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from filelock import FileLock, Timeout

from bitrix.catalogue import Catalogue, load_catalogue
from bitrix.client import KEPT, PLACES, BitrixClient
from bitrix.limiter import Limiter
from bitrix.masking import mask
from bitrix.plan import plan_named
from bitrix.shared_level import SharedLevel
from bot.features import Members, features
from bot.monitoring.heard import Ears
from bot.portal_auth import portal_auth
from bot.settings import Settings
from bot.wire import wire
from orchestrator.audit import Audit
from orchestrator.budgets.purse import MonthlyPurse
from orchestrator.budgets.usage import Usage
from orchestrator.context import Query
from orchestrator.directory.date_format import calendar
from orchestrator.directory.duplicates import Duplicates
from orchestrator.directory.lookup import Lookup, Place
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReads
from orchestrator.directory.present import present
from orchestrator.engines.crm_agent.engine import CrmAgent
from orchestrator.errors import SettingsError
from orchestrator.freezing import handlers as freezing
from orchestrator.freezing.switch import LiveSwitch
from orchestrator.gate.gate import Gate
from orchestrator.gate.live_policy import LivePolicy, Policies
from orchestrator.gate.methods import methods_text
from orchestrator.gate.policy import Policy, check_policy, load_policy
from orchestrator.leads.choosing import Leads
from orchestrator.leads.rules_news import RulesWatch
from orchestrator.leads.tally import SHARED, JournalTally
from orchestrator.messages import Actor, Mode
from orchestrator.model_client.client import KEPT as MODEL_KEPT
from orchestrator.model_client.client import ModelClient
from orchestrator.model_client.settings import ModelSettings
from orchestrator.model_client.transcribe import Transcriber
from orchestrator.performers.bitrix import BitrixPerformer
from orchestrator.performers.schedule import SchedulePerformer
from orchestrator.portal_events.audience import Audience, Nobody
from orchestrator.portal_events.watching import PortalWatch
from orchestrator.talking.voice import Ear, Files
from orchestrator.turns import Partial, Present, Tools, together
from orchestrator.workers import Orchestrator, Trouble
from state.clock import Clock, SystemClock, elapsing
from state.interaction_log import InteractionLogger
from state.sql.hints import hints_of
from state.sql.store import SqlStore, open_store
from state.store import StoreError
from state.trace import trace_headers
from state.worker import AsyncStore

NOBODY = Nobody()
MOST_TEXTS = 9
"""Descriptions of the methods that are kept: of three modes under the last policies."""
PROBE = 5.0
"""Seconds within which a probe of the portal must be sent."""
DATA = Path(__file__).resolve().parents[1] / "data"


def build_orchestrator(  # noqa: PLR0913 - as `assemble`
    settings: Settings,
    store: AsyncStore,
    *,
    trouble: Trouble,
    partial: Partial,
    clock: Clock | None = None,
    present: Present = lambda actor: actor,
    audience: Audience = NOBODY,
    members: Members | None = None,
    files: Files | None = None,
    ears: Ears | None = None,
) -> tuple[Orchestrator, list[BitrixClient | ModelClient | Limiter | Transcriber]]:
    """The orchestrator, and what must be closed after it; raises SettingsError for missing settings (S004-67)."""
    clock, ears = clock or SystemClock(), ears or Ears()
    auth = portal_auth(settings, store, clock.now)
    limiter = _limiter(settings, store, auth.portal, clock, ears)
    client = BitrixClient(
        auth,
        limiter=limiter,
        transport=wire(auth.base_url, connections=PLACES, kept=KEPT),
        operating_limit=settings.bitrix_operating_limit,
        now=clock.now,
        headers=trace_headers,
        heard=ears.of_portal,
    )
    provider = ModelSettings(base_url=settings.openai_api_base, api_key=settings.openai_api_key, default_model=settings.openai_model)
    model = ModelClient(provider, transport=wire(provider.base_url, kept=MODEL_KEPT), heard=ears.of_model)
    ears.probes.update(portal=partial_of(client.call, "server.time", {}, repeatable=True, send_within=PROBE), model=model.probe)
    hearing = Transcriber(provider, settings.openai_transcribe_model) if settings.openai_transcribe_model else None
    made = assemble(
        settings,
        store,
        client,
        model,
        trouble=trouble,
        partial=partial,
        clock=clock,
        present=present,
        audience=audience,
        members=members,
        ear=Ear(files=files, listener=hearing) if files else None,
    )
    return made, [client, model, limiter, *([hearing] if hearing else [])]


def assemble(  # noqa: PLR0913 - the composition root: each is one wire to the outside
    settings: Settings,
    store: AsyncStore,
    client: BitrixClient,
    model: ModelClient,
    *,
    trouble: Trouble,
    partial: Partial,
    clock: Clock,
    present: Present = lambda actor: actor,
    audience: Audience = NOBODY,
    members: Members | None = None,
    ear: Ear | None = None,
) -> Orchestrator:
    """Put the parts together around two given wires; benches and tests hand in their own transports."""
    policy, catalogue = rules(settings)
    reads = PortalReads(client, catalogue, clock)
    naming = Naming(reads)
    more = features(reads, naming, store, members, DATA, ear=ear)
    watch, switch = RulesWatch(), LiveSwitch(store)
    live = LivePolicy(settings.policy_file, catalogue, policy=policy, tell=watch.tell)
    gate = Gate(
        catalogue=catalogue,
        policy=live,
        approvers=Leads(members, clock.now) if members else None,
        switch=switch,
        tally=JournalTally(store, overlap=SHARED if settings.database_url else timedelta(seconds=1)),
        performers={"bitrix": BitrixPerformer(client, reads), "schedule": SchedulePerformer(store, clock)},
        records=reads,
        names=naming,
        ttl=settings.confirmation_ttl,
        present=present,
    )
    tools = Tools(
        store=store,
        gate=gate,
        model=model,
        engines={"crm_agent": _agent(settings, catalogue, live)},
        queries=_queries(reads, naming, clock),
        audit=Audit(InteractionLogger(settings.log_dir, clock=clock), clock),
        mode=settings.agent_mode,
        partial=partial,
        hosts=frozenset({client.portal}) | policy.http_hosts,
        present=present,
        purse=MonthlyPurse(live, Usage(store)),
        handlers=together(more.handlers, freezing.handlers(switch, members)),
        rounds=more.rounds,
        watches=(partial_of(watch.look, live),),
    )
    return Orchestrator(tools, clock, trouble=trouble, portal=PortalWatch(reads, naming, store, clock, audience=audience, present=present))


def _agent(settings: Settings, catalogue: Catalogue, policies: Policies) -> CrmAgent:
    return CrmAgent(
        constitution=(DATA / "agent" / "constitution.md").read_text(encoding="utf-8"),
        protocol=(DATA / "agent" / "protocol.md").read_text(encoding="utf-8"),
        methods=_methods(catalogue, policies),
        max_iterations=settings.agent_max_iterations,
    )


@contextlib.asynccontextmanager
async def opened_store(settings: Settings) -> AsyncIterator[AsyncStore]:
    """The database, migrated and closed at the end; raises SettingsError when it cannot be opened.

    The embedded database belongs to one process, which proves it by a lock file: so the leases of a process that died are void at once.
    """
    with contextlib.ExitStack() as stack:
        embedded = settings.database_url is None
        if embedded:
            _lock(settings.state_dir, stack)
        opened = await asyncio.to_thread(_open, settings)
        store = AsyncStore(opened, threads=opened.threads, hints=hints_of(settings.database.get_secret_value()))
        try:
            if embedded:
                await store.void_leases()
            yield store
        finally:
            await store.aclose()


def _lock(folder: Path, stack: contextlib.ExitStack) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stack.enter_context(FileLock(folder / "sdelka.lock", timeout=0))
    except Timeout:
        raise SettingsError(f"another process works with STATE_DIR {folder}: stop it first, or set DATABASE_URL for several") from None
    except OSError as error:
        raise SettingsError(f"STATE_DIR {folder}: {error.strerror}") from error


def _open(settings: Settings) -> SqlStore:
    try:
        return open_store(settings.database.get_secret_value())
    except StoreError as error:
        raise SettingsError(f"the database cannot be opened: {mask(str(error))}") from None


def rules(settings: Settings) -> tuple[Policy, Catalogue]:
    """The owner's rules and the methods with theirs; raises SettingsError where they do not fit together."""
    policy = load_policy(settings.policy_file)
    catalogue = load_catalogue(DATA / "catalogue", [row.model_dump() for row in policy.catalogue])
    faults = check_policy(policy, catalogue)
    if faults:
        raise SettingsError("POLICY_FILE: " + "; ".join(faults))
    return policy, catalogue


def _limiter(settings: Settings, store: AsyncStore, portal: str, clock: Clock, ears: Ears) -> Limiter:
    """The one limiter of this process for the portal, which counts all its clients together: they must share it."""
    plan = plan_named(settings.bitrix_plan)
    return Limiter(plan.rate, plan.burst, shared=SharedLevel(store, portal, now=clock.now), clock=elapsing, waited=ears.waited)


def _methods(catalogue: Catalogue, policies: Policies) -> Callable[[Mode], str]:
    """What the model is told of the methods, made once for each mode under the same rules."""
    texts: dict[tuple[Mode, str], str] = {}

    def methods(mode: Mode) -> str:
        policy = policies.now()
        key = mode, policy.digest
        if key not in texts:
            if len(texts) >= MOST_TEXTS:
                texts.clear()
            texts[key] = methods_text(catalogue, policy, mode)
        return texts[key]

    return methods


def _queries(reads: PortalReads, naming: Naming, clock: Clock) -> Mapping[str, Query]:
    """What engines may ask of names and time."""
    lookup, known = Lookup(reads, naming, clock), Duplicates(reads, naming)

    async def resolve(*, reference: str, actor: Actor, **place: Any) -> Any:
        return await lookup.resolve(reference, Place(actor=actor, **place))

    async def shown(*, outcome: Any, actor: Actor) -> Any:
        return await present(outcome, naming, actor)

    async def named(*, titles: Mapping[str, str], text: str, actor: Actor) -> set[str]:
        return await lookup.named(titles, text, actor)

    async def when(*, actor: Actor) -> dict[str, Any]:
        now = clock.now()
        here: datetime = now.astimezone(ZoneInfo(actor.time_zone))
        lines = calendar(now, actor.time_zone, locale=actor.locale)
        return {"now": here.isoformat(timespec="minutes"), "zone": actor.time_zone, "calendar": lines}

    async def current(*, state: Mapping[str, Any], actor: Actor) -> dict[str, Any]:
        del actor
        return {key: value for key, value in state["agent"]["objects"].items() if key != "links" and value}

    async def link(*, target: str, actor: Actor) -> str:
        kind, _, number = target.rpartition(":")
        return naming.card_url(kind, int(number), user=actor.bitrix_user_id or 0) if kind and number.isdecimal() else ""

    async def zone(*, user_id: int | None) -> str:
        return await naming.zone_of(user_id)

    return {
        "zone": zone,
        "link": link,
        "resolve": resolve,
        "present": shown,
        "named": named,
        "when": when,
        "current": current,
        "same": known.same,
    }
