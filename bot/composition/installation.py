"""What everything in a process rests on: settings, database, clock, rules, texts."""

import logging
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from bitrix.catalogue.catalogue import Catalogue, load_catalogue
from bot.definition_service import describe_absent_kinds, list_known_kinds
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from orchestrator.engines.crm_agent.agent_texts import AgentTexts, load_agent_texts
from orchestrator.features.freezing.freeze_switch import LiveSwitch
from orchestrator.features.leads.live_policy import LivePolicy, PolicyWatcher
from orchestrator.gate.call.policy import Policy, check_policy, load_policy
from orchestrator.runs.registry import Engines
from state.clock import Clock
from state.journal.async_store import AsyncStore

log = logging.getLogger(__name__)

DATA: Final = Path(__file__).resolve().parents[2] / "data"


@dataclass(frozen=True, kw_only=True)
class Installation:
    settings: Settings
    store: AsyncStore
    clock: Clock
    catalogue: Catalogue
    policies: LivePolicy
    policy_news: PolicyWatcher
    switch: LiveSwitch
    texts: AgentTexts


def build_installation(settings: Settings, store: AsyncStore, clock: Clock, engines: Engines) -> Installation:
    """Raises SettingsError as `load_rules` does."""
    policy, catalogue = load_rules(settings, engines)
    news, kinds = PolicyWatcher(), partial(list_known_kinds, settings, engines)
    return Installation(
        settings=settings,
        store=store,
        clock=clock,
        catalogue=catalogue,
        policies=LivePolicy(settings.policy_file, catalogue, policy=policy, tell=news.add_news, kinds=kinds),
        policy_news=news,
        switch=LiveSwitch(store),
        texts=load_agent_texts(DATA / "agent"),
    )


def load_rules(settings: Settings, engines: Engines) -> tuple[Policy, Catalogue]:
    """Raises SettingsError if the policy is invalid or names what there is not."""
    policy = load_policy(settings.policy_file)
    catalogue = load_catalogue(DATA / "catalogue", [row.model_dump() for row in policy.catalogue])
    if faults := check_policy(policy, catalogue, kinds=list_known_kinds(settings, engines, policy)):
        raise SettingsError("POLICY_FILE: " + "; ".join(faults))
    for sentence in describe_absent_kinds(policy, engines):
        log.warning("POLICY_FILE: %s", sentence, extra={"action": "policy_kind_absent"})
    return policy, catalogue
