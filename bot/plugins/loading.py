"""Finds the engines: folders of `engines` and entry points of packages.

A faulty one is left out, logged when it is met first, and told by `sdelka doctor`.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import iter_modules
from typing import Final, TypeVar

from bot.plugins.plugin import EnginePlugin, Slot

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineFault:
    engine: str
    """Or its folder or entry point, if it has told no name."""
    slot: str
    """"" for the engine as a whole."""
    reason: str

    def describe(self) -> str:
        if self.slot:
            return f"The engine {self.engine} is shown without its part {self.slot}: {self.reason}."
        return f"The engine {self.engine} is left out: {self.reason}."


_faults: dict[EngineFault, None] = {}


def note_fault(engine: str, slot: str, reason: str, error: BaseException | None = None) -> None:
    """Log it only when it is met first."""
    fault = EngineFault(engine=engine, slot=slot, reason=reason)
    if fault in _faults:
        return
    _faults[fault] = None
    log.error("%s", fault.describe(), exc_info=error, extra={"action": "engine_fault", "engine": engine, "slot": slot})


def list_faults() -> Sequence[EngineFault]:
    return tuple(_faults)


def forget_faults() -> None:
    """The engines are looked for anew."""
    _faults.clear()


_PACKAGE: Final = "engines"
_MODULE: Final = "plugin"
_ATTRIBUTE: Final = "PLUGIN"
GROUP: Final = "sdelka.engines"
UNUSABLE: Final = (Exception, SystemExit)
"""May be raised by an engine's code, and must not end the program."""
T = TypeVar("T")


@cache
def load_plugins() -> Sequence[EnginePlugin]:
    """The shipped ones go first; of one name or kind the first is taken."""
    forget_faults()
    plugins: dict[str, EnginePlugin] = {}
    kinds: dict[str, str] = {}
    for origin, plugin in (*_sort(_load_shipped()), *_sort(_load_installed())):
        other_kinds = sorted(kind for kind in plugin.kinds if kind in kinds)
        if plugin.name in plugins:
            note_fault(plugin.name, "", f"there is another engine of this name, and the one of {origin} came second")
        elif other_kinds:
            note_fault(plugin.name, "", f"the kind {other_kinds[0]} is one of the engine {kinds[other_kinds[0]]}")
        else:
            plugins[plugin.name] = plugin
            kinds |= dict.fromkeys(plugin.kinds, plugin.name)
    return tuple(plugins.values())


def _sort(plugins_by_place: Iterator[tuple[str, EnginePlugin]]) -> list[tuple[str, EnginePlugin]]:
    return sorted(plugins_by_place, key=lambda pair: (pair[1].position, pair[1].name, pair[0]))


def _load_shipped() -> Iterator[tuple[str, EnginePlugin]]:
    for folder in iter_modules(import_module(_PACKAGE).__path__):
        if folder.ispkg:
            place = f"{_PACKAGE}.{folder.name}.{_MODULE}:{_ATTRIBUTE}"
            plugin = _load_plugin(folder.name, place)
            if plugin is not None:
                yield place, plugin


def _load_installed() -> Iterator[tuple[str, EnginePlugin]]:
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        plugin = _load_plugin(point.name, point.value)
        if plugin is not None:
            yield point.value, plugin


def _load_plugin(name: str, place: str) -> EnginePlugin | None:
    try:
        plugin = _import(place)
    except UNUSABLE as error:
        note_fault(name, "", _explain(place, error), error)
        return None
    if not isinstance(plugin, EnginePlugin):
        note_fault(name, "", _explain_type(place, plugin, EnginePlugin))
        return None
    return plugin


def list_texts() -> dict[str, Path]:
    return {plugin.name: plugin.texts for plugin in load_plugins() if plugin.texts is not None}


def list_kinds() -> list[str]:
    return [kind for plugin in load_plugins() for kind in plugin.kinds]


def find_own_kind(engine: str) -> str:
    """The first of its plugin; the engine's name if unknown."""
    return next((plugin.kinds[0] for plugin in load_plugins() if plugin.name == engine and plugin.kinds), engine)


def list_offering(slot: Slot[T]) -> list[str]:
    """What they offer is not imported."""
    return [plugin.name for plugin in load_plugins() if slot.name in plugin.parts]


def find_part(slot: Slot[T], engine: str) -> T | None:
    """None for nothing that can be used."""
    plugin = next((plugin for plugin in load_plugins() if plugin.name == engine), None)
    return _load_part(slot, slot.name, plugin) if plugin is not None else None


def find_part_of_kind(slot: Slot[T], kind: str) -> T | None:
    """None for nothing that can be used."""
    plugin = next((plugin for plugin in load_plugins() if kind in plugin.kinds), None)
    return _load_part(slot, f"{slot.name}/{kind}", plugin) if plugin is not None else None


def list_parts(slot: Slot[T]) -> dict[str, T]:
    offered = {plugin.name: _load_part(slot, slot.name, plugin) for plugin in load_plugins()}
    return {name: part for name, part in offered.items() if part is not None}


def _load_part(slot: Slot[T], name: str, plugin: EnginePlugin) -> T | None:
    place = plugin.parts.get(name)
    if place is None:
        return None
    try:
        part = _import(place)
    except UNUSABLE as error:
        note_fault(plugin.name, name, f"{_explain(place, error)}; {slot.type.__name__} was expected", error)
        return None
    if not isinstance(part, slot.type):
        note_fault(plugin.name, name, _explain_type(place, part, slot.type))
        return None
    if uncallable := _find_uncallable(part):
        note_fault(plugin.name, name, f"{place} has a field {uncallable} that cannot be called")
        return None
    return part


def _find_uncallable(part: object) -> str:
    """Also of a part in it; "" for none."""
    for field in fields(part) if is_dataclass(part) and not isinstance(part, type) else ():
        content = getattr(part, field.name)
        must = str(field.type).removeprefix("collections.abc.")  # as it is written; resolving it would import more
        if must.startswith("Callable[") and not callable(content) and not (content is None and must.endswith("| None")):
            return field.name
        if inner := _find_uncallable(content):
            return f"{field.name}.{inner}"
    return ""


def _import(place: str) -> object:
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


def _explain(place: str, error: BaseException) -> str:
    return f"{place} cannot be imported: {type(error).__name__}: {error}"


def _explain_type(place: str, part: object, expected: type) -> str:
    return f"{place} is of the type {type(part).__name__}, {expected.__name__} was expected"
