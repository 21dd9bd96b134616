"""What everything in a process rests on: its settings, database and clock, the rules of the company, and the shipped texts."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bitrix.catalogue.catalogue import Catalogue, load_catalogue
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from orchestrator.engines.crm_agent.agent_texts import AgentTexts, load_agent_texts
from orchestrator.features.freezing.freeze_switch import LiveSwitch
from orchestrator.features.leads.policy_news import PolicyWatcher
from orchestrator.gate.call.policy import Policy, check_policy, load_policy
from orchestrator.gate.decide.policy_reload import LivePolicy
from orchestrator.runs.registry import Engines
from state.clock import Clock
from state.journal.async_store import AsyncStore

DATA: Final = Path(__file__).resolve().parents[2] / "data"


@dataclass(frozen=True, kw_only=True)
class Installation:
    """One installation as a process runs it."""

    settings: Settings
    store: AsyncStore
    clock: Clock
    catalogue: Catalogue
    """The methods of the portal, with those that the company's policy adds."""
    policies: LivePolicy
    policy_news: PolicyWatcher
    """Hears of each change of the policy's files."""
    switch: LiveSwitch
    texts: AgentTexts


def build_installation(settings: Settings, store: AsyncStore, clock: Clock, engines: Engines) -> Installation:
    """Return the installation; its policy may name the kinds of definitions of `engines`. Raises SettingsError, as `load_rules` does."""
    policy, catalogue = load_rules(settings, engines)
    news = PolicyWatcher()
    return Installation(
        settings=settings,
        store=store,
        clock=clock,
        catalogue=catalogue,
        policies=LivePolicy(settings.policy_file, catalogue, policy=policy, tell=news.add_news, kinds=engines.kinds),
        policy_news=news,
        switch=LiveSwitch(store),
        texts=load_agent_texts(DATA / "agent"),
    )


def load_rules(settings: Settings, engines: Engines) -> tuple[Policy, Catalogue]:
    """Return the company's policy, and the catalogue of portal methods with the policy's additions.

    Raises SettingsError if the policy is invalid, or names methods, fields or kinds of definitions that there are not with these engines.
    """
    policy = load_policy(settings.policy_file)
    catalogue = load_catalogue(DATA / "catalogue", [row.model_dump() for row in policy.catalogue])
    if faults := check_policy(policy, catalogue, kinds=engines.kinds):
        raise SettingsError("POLICY_FILE: " + "; ".join(faults))
    return policy, catalogue
