from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import get_args

from bot.plugins.loading import UNUSABLE, list_kinds, list_parts, load_plugins, note_fault
from bot.plugins.wiring import WIRING, EnginePorts, Wiring
from orchestrator.definitions.kinds import DefinitionKind
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.outputs import Notice
from orchestrator.runs.registry import Engines, RegisteredEngine, RunCommand
from state.journal.store import Lane


@cache
def load_installed_engines() -> Engines:
    """As they check definitions; one that cannot be built is left out."""
    return Engines(runs=build_engines())


def build_engines() -> dict[str, RegisteredEngine]:
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
    if why := _find_wrong_value(engine):
        note_fault(name, "", f"it builds an engine whose {why}")
        return None
    declared = next((plugin.kinds for plugin in load_plugins() if plugin.name == name), ())
    own = [kind.name for kind in (engine.kind, *engine.parts) if kind is not None]
    if undeclared := [kind for kind in own if kind not in declared]:
        whose = "is one of another engine" if undeclared[0] in list_kinds() else "does not stand in the kinds of its plugin"
        note_fault(name, "", f"its kind {undeclared[0]} {whose}")
        return None
    return engine


def _find_wrong_value(engine: RegisteredEngine) -> str:
    """No type checker has seen the engine; "" for nothing."""
    runs: object = engine.engine
    kind: object = engine.kind
    parts: object = engine.parts
    commands: object = engine.commands
    if not callable(getattr(runs, "run", None)) or not hasattr(runs, "replay"):
        return "engine is no RunEngine: it has no run or no replay"
    if not isinstance(kind, DefinitionKind | None):
        return f"kind is of the type {type(kind).__name__}, DefinitionKind was expected"
    if not isinstance(parts, Sequence) or not all(isinstance(part, DefinitionKind) for part in parts):
        return "parts are no sequence of DefinitionKind"
    if not isinstance(commands, Mapping) or not all(isinstance(command, RunCommand) for command in commands.values()):
        return "commands do not map names to RunCommand"
    return next((f"command {name} {why}" for name, command in commands.items() if (why := _find_wrong_command(name, command))), "")


def _find_wrong_command(name: object, command: RunCommand) -> str:
    definition: object = command.definition
    menu: object = command.menu
    if not isinstance(name, str):
        return f"has a name of the type {type(name).__name__}, str was expected"
    if not isinstance(definition, str):
        return f"has a definition of the type {type(definition).__name__}, str was expected"
    if not isinstance(menu, Notice | None):
        return f"has a menu of the type {type(menu).__name__}, Notice was expected"
    return "" if command.lane in get_args(Lane) else f"has a lane that is none of {', '.join(get_args(Lane))}"


def connect_engines(engines: Mapping[str, RegisteredEngine], ports: EnginePorts) -> dict[str, RegisteredEngine]:
    """One that cannot be connected is left out. Raises SettingsError."""
    wirings, connected = list_parts(WIRING), dict[str, RegisteredEngine]()
    for name, engine in engines.items():
        with leave_out(name, "", "it cannot be connected with the services"):
            connected_engine: object = wirings[name].connect(engine, ports) if name in wirings else engine
            if isinstance(connected_engine, RegisteredEngine) and not (why := _find_wrong_value(connected_engine)):
                connected[name] = connected_engine
                continue
            what = (
                f"an engine whose {why}"
                if isinstance(connected_engine, RegisteredEngine)
                else f"the type {type(connected_engine).__name__}"
            )
            note_fault(name, "", f"connected with the services it becomes {what}")
    return connected


@contextmanager
def leave_out(engine: str, slot: str, what: str) -> Iterator[None]:
    """An error leaves out the engine, or its part in `slot`. Raises SettingsError."""
    try:
        yield
    except SettingsError:
        raise
    except UNUSABLE as error:
        note_fault(engine, slot, f"{what}: {type(error).__name__}: {error}", error)
