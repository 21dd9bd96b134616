from collections.abc import Mapping
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, replace

from bot.composition.installation import Installation
from bot.composition.outside import Outside
from bot.composition.portal import Portal
from bot.plugins.building import connect_engines, leave_out
from bot.plugins.loading import list_parts, note_fault
from bot.plugins.turn_face import TURN_FACE, TurnPorts
from bot.plugins.wiring import LIFETIME, EnginePorts
from bot.settings.settings import Settings
from orchestrator.domain.errors import SettingsError
from orchestrator.engines.base import Engine
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.runs.registry import Engines
from orchestrator.runs.stored_definitions import add_stored_definitions
from state.events.base import DEFAULT_ENGINE


@dataclass(frozen=True, kw_only=True)
class EngineSet:
    turns: Mapping[str, Engine]
    runs: Engines
    """With the definitions that are published."""
    scripts: ScriptRunner

    async def aclose(self) -> None:
        await self.scripts.aclose()


def build_engines(installation: Installation, portal: Portal, outside: Outside, engines: Engines) -> EngineSet:
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
    turns = build_turn_engines(
        TurnPorts(
            settings=settings,
            catalogue=installation.catalogue,
            policies=policies,
            texts=installation.texts,
            services=outside.services,
        )
    )
    stored = add_stored_definitions(engines, installation.store)
    return EngineSet(turns=turns, runs=replace(stored, runs=connect_engines(stored.runs, ports)), scripts=scripts)


def open_lifetimes(settings: Settings, stack: ExitStack | AsyncExitStack) -> None:
    """Until the stack is closed. What cannot be opened is left out. Raises SettingsError."""
    for name, lifetime in list_parts(LIFETIME).items():
        with leave_out(name, LIFETIME.name, "it cannot be opened"):
            stack.enter_context(lifetime.open(settings.log_dir, settings.log_level))


def build_turn_engines(ports: TurnPorts) -> dict[str, Engine]:
    """Leave out what cannot be built. Raises SettingsError without the engine that answers messages."""
    engines = dict[str, Engine]()
    for name, face in list_parts(TURN_FACE).items():
        with leave_out(name, TURN_FACE.name, "it cannot be built"):
            engine = face.build(ports)
            if callable(getattr(engine, "run", None)):
                engines[name] = engine
            else:
                note_fault(name, TURN_FACE.name, f"it builds the type {type(engine).__name__}, which has no run")
    if DEFAULT_ENGINE not in engines:
        raise SettingsError(f"the engine {DEFAULT_ENGINE}, which answers messages, cannot be used; the log or `sdelka doctor` says why")
    return engines
