"""Builds the features; a new one is one line of `build_features`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from bot.cli.ask_face import ASK_FACE
from bot.composition.engines import EngineSet
from bot.composition.installation import DATA, Installation
from bot.composition.model_providers import build_model_settings, build_providers
from bot.composition.outside import Outside
from bot.composition.people import People
from bot.composition.portal import Portal
from bot.monitoring.reachability import ReachabilityTracker
from bot.plugins.loading import list_offering, note_fault
from bot.settings.model_plan import ProviderSpec
from bot.settings.settings import Settings
from orchestrator.domain.actor import Actor
from orchestrator.features.asking import feature as asking
from orchestrator.features.bulk import feature as bulk
from orchestrator.features.cards import feature as cards
from orchestrator.features.console import feature as console
from orchestrator.features.daily import feature as daily
from orchestrator.features.daily.message_bodies import Nobody
from orchestrator.features.definitions import feature as definitions
from orchestrator.features.documents import feature as documents
from orchestrator.features.freezing import feature as freezing
from orchestrator.features.history import feature as history
from orchestrator.features.leads import feature as leads
from orchestrator.features.leads.lead_inbox import find_pending_elsewhere
from orchestrator.features.lists import feature as lists
from orchestrator.features.numbers import feature as numbers
from orchestrator.features.orders import feature as orders
from orchestrator.features.orders.firing import OrderFirer
from orchestrator.features.orders.looking import OrderLooker
from orchestrator.features.orders.record_lines import RecordLines
from orchestrator.features.people import feature as staff
from orchestrator.features.people.people_context import PeopleContext
from orchestrator.features.portal_events import feature as portal_events
from orchestrator.features.portal_events.watcher import PortalWatcher
from orchestrator.features.talking import feature as talking
from orchestrator.features.talking.voice import SpeechToText, VoiceInput
from orchestrator.features.undo import feature as undo
from orchestrator.language.work_calendar import load_workdays
from orchestrator.model_client.client import ModelClient
from orchestrator.model_client.router import ModelRouter
from orchestrator.model_client.transcribe import Transcriber
from orchestrator.runs import feature as runs
from orchestrator.runs.commands import COMMANDS as RUN_COMMANDS
from orchestrator.runs.registry import RegisteredEngine
from orchestrator.runtime.commands import CARD_BUTTONS, COMMANDS
from orchestrator.schedules import feature as schedules
from orchestrator.turns.feature import Feature, merge_features


@dataclass(frozen=True, kw_only=True)
class Models:
    """The models that this process asks."""

    router: ModelRouter
    transcriber: SpeechToText | None = None
    """Turns speech into text; None if voice messages are refused."""
    clients: Mapping[str, ModelClient | Transcriber] = field(default_factory=dict)
    """What is closed at the end, by name; empty if whoever made the router closes its clients."""

    async def aclose(self) -> None:
        """Close the connections."""
        for client in self.clients.values():
            await client.aclose()


def build_models(settings: Settings, reachability: ReachabilityTracker) -> Models:
    """Return the models of the settings; `reachability` hears how each call ends. Raises SettingsError."""
    providers = build_providers(settings, heard=reachability.record_model_call, observe=reachability.record_provider_call)
    reachability.breakers = {name: route.breaker for name, route in providers.router.routes.items()}
    reachability.model.probe = providers.probe
    if not settings.openai_transcribe_model:
        return Models(router=providers.router, clients=providers.clients)
    transcriber = Transcriber(build_model_settings(ProviderSpec(kind="openai"), settings), settings.openai_transcribe_model)
    return Models(router=providers.router, transcriber=transcriber, clients={**providers.clients, "speech": transcriber})


_COMMAND: Final = re.compile("[a-z][a-z0-9_]{0,31}", re.ASCII)
_OF_FEATURES: Final = ("ask", "console", "docs", "freeze", "orders", "schedules", "unfreeze")
"""No engine gets these, also where an installation lacks them."""
_NOTHING: Final = Feature()


def build_features(
    installation: Installation, portal: Portal, models: Models, people: People, engines: EngineSet, outside: Outside
) -> Feature:
    """Raises SettingsError for faulty data files."""
    store, reads, naming, members, files = installation.store, portal.reads, portal.naming, people.members, people.files

    def url_of(target: str, actor: Actor) -> str:
        kind, _, number = target.rpartition(":")
        return naming.build_card_url(kind, int(number), user=actor.bitrix_user_id or 0)

    workdays = load_workdays(DATA / "holidays.yaml")
    ear = VoiceInput(files=files, transcriber=models.transcriber) if files else None
    looker = OrderLooker(store, outside.watch, people.refresh_actor)
    watcher = PortalWatcher(
        reads, naming, store, installation.clock, audience=people.audience, present=people.refresh_actor, hear=looker.hurry
    )
    firer = OrderFirer(outside.watch, RecordLines(reads=reads, naming=naming), members or Nobody(), fires=members is not None)
    registry = PeopleContext(staff=members, employees=portal.employees) if members else None
    retention = timedelta(days=installation.settings.run_retention_days)
    others = merge_features(
        daily.build_feature(outside.day, url_of, people=members or Nobody(), workdays=workdays),
        console.build_feature(people.sign_link),
        cards.build_feature(reads.catalogue, reads.reference, store, find_pending_elsewhere),
        leads.build_feature(store, members),
        undo.build_feature(),
        history.build_feature(),
        numbers.build_feature(outside.numbers),
        bulk.FEATURE,
        lists.build_feature(),
        orders.build_feature(firer, looker if members is not None else None),
        talking.build_feature(ear),
        *[asking.build_feature(name) for name in list_offering(ASK_FACE) if name in engines.turns][:1],
        freezing.build_feature(installation.switch, members),
        definitions.build_feature(members),
        documents.build_feature(outside.shelf, files),
        portal_events.build_feature(watcher),
        *([staff.build_feature(registry)] if registry else []),
        schedules.build_feature(engines.runs, fires=members is not None),  # without the list of people nobody knows their rights
    )
    # Also without any engine: what runs of engines that are away wait for is kept until these are back.
    own = replace(engines.runs, runs=drop_taken_commands(engines.runs.runs, others))
    return merge_features(others, runs.build_feature(own, store=store, keep=retention, files=files))


def drop_taken_commands(engines: Mapping[str, RegisteredEngine], others: Feature = _NOTHING) -> dict[str, RegisteredEngine]:
    """The program, features and earlier engines go first."""
    used_names = {*COMMANDS, *CARD_BUTTONS, *RUN_COMMANDS, *_OF_FEATURES, *others.commands, *others.command_specs}
    free: dict[str, RegisteredEngine] = {}
    for engine, registered in engines.items():
        for name in registered.commands:
            if name in used_names or _COMMAND.fullmatch(name) is None:
                why = "is taken" if name in used_names else "is no name such as begin_2"
                note_fault(engine, "commands", f"the command {name} {why}")
        own = {name: command for name, command in registered.commands.items() if name not in used_names and _COMMAND.fullmatch(name)}
        used_names |= own.keys()
        free[engine] = replace(registered, commands=own)
    return free
