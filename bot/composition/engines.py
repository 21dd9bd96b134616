"""Builds the engines of turns, and connects the engines of runs with the services of the process. Part of the composition root."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bot.composition.crm_agent import build_agent
from bot.composition.installation import Installation
from bot.composition.outside import Outside
from bot.composition.portal import Portal
from bot.composition.tool_services import build_tool_agent
from bot.plugins.building import connect_engines
from bot.plugins.wiring import EnginePorts
from orchestrator.engines.base import Engine
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.runs.registry import Engines
from orchestrator.runs.stored_definitions import add_stored_definitions


@dataclass(frozen=True, kw_only=True)
class EngineSet:
    """The engines of one process."""

    turns: Mapping[str, Engine]
    """Those that answer messages, by name."""
    runs: Engines
    """Those of runs (executions of scenarios, flows and workflows), with the definitions that are published."""
    scripts: ScriptRunner
    """The sandbox in which runs execute the scripts of authors."""

    async def aclose(self) -> None:
        """End the processes of the sandbox."""
        await self.scripts.aclose()


def build_engines(installation: Installation, portal: Portal, outside: Outside, engines: Engines) -> EngineSet:
    """Return `engines` connected with the services of the process, and the engines of turns."""
    settings, policies, scripts = installation.settings, installation.policies, ScriptRunner()
    ports = EnginePorts(
        settings=settings,
        store=installation.store,
        policies=policies,
        catalogue=installation.catalogue,
        naming=portal.naming,
        find_documents=outside.documents.ask,
        read_file=outside.read_file,
        download=outside.download,
        scripts=scripts,
    )
    turns: dict[str, Engine] = {
        "crm_agent": build_agent(settings, installation.catalogue, policies, installation.texts),
        "tool_agent": build_tool_agent(settings, outside.services, tells_asker="rag" in outside.services.believed),
    }
    stored = add_stored_definitions(engines, installation.store)
    return EngineSet(turns=turns, runs=replace(stored, runs=connect_engines(stored.runs, ports)), scripts=scripts)
