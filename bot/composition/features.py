"""Builds the features, each from the services it needs. Part of the composition root; a new feature is one line of `build_features`."""

from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bot.composition.people import Members
from orchestrator.directory.agenda import load_agenda
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.actor import Actor
from orchestrator.domain.shelf import DocumentShelf
from orchestrator.features.asking import feature as asking
from orchestrator.features.cards import feature as cards
from orchestrator.features.console import feature as console
from orchestrator.features.console.handlers import SignLink
from orchestrator.features.daily import feature as daily
from orchestrator.features.daily.ports import Nobody
from orchestrator.features.definitions import feature as definitions
from orchestrator.features.documents import feature as documents
from orchestrator.features.freezing import feature as freezing
from orchestrator.features.history import feature as history
from orchestrator.features.leads import feature as leads
from orchestrator.features.leads.lead_inbox import find_pending_elsewhere
from orchestrator.features.people import feature as people
from orchestrator.features.people.people_context import PeopleContext
from orchestrator.features.people.staff import Employees
from orchestrator.features.portal_events import feature as portal_events
from orchestrator.features.portal_events.watcher import PortalWatcher
from orchestrator.features.talking import feature as talking
from orchestrator.features.talking.voice import VoiceInput
from orchestrator.features.undo import feature as undo
from orchestrator.gate.call.ports import FreezeSwitch
from orchestrator.language.work_calendar import load_workdays
from orchestrator.runs import feature as runs
from orchestrator.runs.registry import Engines
from orchestrator.runs.retention import KEPT
from orchestrator.schedules import feature as schedules
from orchestrator.turns.feature import Feature, Files, merge_features
from state.journal.async_store import AsyncStore


class Ports(NamedTuple):
    """The services that features are built from. Without `members` the bot never writes to people unasked and admits nobody."""

    reads: PortalReader
    naming: Naming
    store: AsyncStore
    watcher: PortalWatcher
    switch: FreezeSwitch
    members: Members | None = None
    ear: VoiceInput | None = None
    engines: Engines = Engines()
    files: Files | None = None
    """Downloads what people send; None without a messenger that gives files."""
    shelf: DocumentShelf | None = None
    """The folder of documents of the service inside of this process; None if documents are kept elsewhere, or not at all."""
    sign_link: SignLink | None = None
    """Signs the links of the console; None without one."""
    run_retention: timedelta = KEPT
    """How long finished runs are kept; zero for ever."""


def build_features(ports: Ports, data: Path) -> Feature:
    """Return one feature that combines all features; `data` is the folder of shipped data. Raises SettingsError for faulty data files."""
    reads, naming, store, members = ports.reads, ports.naming, ports.store, ports.members

    def url_of(target: str, actor: Actor) -> str:
        kind, _, number = target.rpartition(":")
        return naming.build_card_url(kind, int(number), user=actor.bitrix_user_id or 0)

    agenda, workdays = partial(load_agenda, reads, naming), load_workdays(data / "holidays.yaml")
    registry = PeopleContext(staff=members, employees=Employees(reads.reference, naming)) if members else None
    return merge_features(
        daily.build_feature(agenda, url_of, people=members or Nobody(), workdays=workdays),
        console.build_feature(ports.sign_link),
        cards.build_feature(reads.catalogue, reads.reference, store, find_pending_elsewhere),
        leads.build_feature(store, members),
        undo.build_feature(),
        history.build_feature(),
        talking.build_feature(ports.ear),
        asking.build_feature(),
        freezing.build_feature(ports.switch, members),
        definitions.build_feature(members),
        documents.build_feature(ports.shelf, ports.files),
        portal_events.build_feature(ports.watcher),
        *([people.build_feature(registry)] if registry else []),
        schedules.build_feature(ports.engines, fires=members is not None),  # without the list of people nobody knows their rights
        *([runs.build_feature(ports.engines, store=store, keep=ports.run_retention, files=ports.files)] if ports.engines.runs else []),
    )
