"""Builds the engines of runs, and connects them with the services of the process. Part of the composition root."""

from collections.abc import Mapping
from functools import cache

from bot.plugins.faults import note_fault
from bot.plugins.loading import UNUSABLE, list_kinds, list_parts, load_plugins
from bot.plugins.wiring import WIRING, EnginePorts, Wiring
from orchestrator.domain.errors import SettingsError
from orchestrator.runs.registry import Engines, RegisteredEngine


@cache
def load_installed_engines() -> Engines:
    """Return the engines of runs of all plugins, as they check definitions. The first call builds them; one that cannot be is left out."""
    return Engines(runs=build_engines())


def build_engines() -> dict[str, RegisteredEngine]:
    """Return the engines by name; one that cannot be built is left out."""
    engines: dict[str, RegisteredEngine] = {}
    for name, wiring in list_parts(WIRING).items():
        engine = _build(name, wiring)
        if engine is not None:
            engines[name] = engine
    return engines


def _build(name: str, wiring: Wiring) -> RegisteredEngine | None:
    try:
        engine: object = wiring.build()
    except UNUSABLE as error:
        note_fault(name, "", f"it cannot be built: {type(error).__name__}: {error}", error)
        return None
    if not isinstance(engine, RegisteredEngine):
        note_fault(name, "", f"it builds the type {type(engine).__name__}, RegisteredEngine was expected")
        return None
    declared = next((plugin.kinds for plugin in load_plugins() if plugin.name == name), ())
    own = [kind.name for kind in (engine.kind, *engine.parts) if kind is not None]
    if undeclared := [kind for kind in own if kind not in declared]:
        whose = "is one of another engine" if undeclared[0] in list_kinds() else "does not stand in the kinds of its plugin"
        note_fault(name, "", f"its kind {undeclared[0]} {whose}")
        return None
    return engine


def connect_engines(engines: Mapping[str, RegisteredEngine], ports: EnginePorts) -> dict[str, RegisteredEngine]:
    """Return the engines with what each asks of the services; one that cannot be connected is left out. Raises SettingsError."""
    wirings, connected = list_parts(WIRING), dict[str, RegisteredEngine]()
    for name, engine in engines.items():
        try:
            connected[name] = wirings[name].connect(engine, ports) if name in wirings else engine
        except SettingsError:
            raise
        except UNUSABLE as error:
            note_fault(name, "", f"it cannot be connected with the services: {type(error).__name__}: {error}", error)
    return connected
