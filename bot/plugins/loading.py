"""Finds the engines: the folders of the package `engines`, and what installed packages name by entry points."""

import logging
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import iter_modules
from typing import Final, TypeVar

from bot.plugins.plugin import EnginePlugin, Slot

_PACKAGE: Final = "engines"
_MODULE: Final = "plugin"
_ATTRIBUTE: Final = "PLUGIN"
GROUP: Final = "sdelka.engines"
T = TypeVar("T")
log = logging.getLogger(__name__)


@cache
def load_plugins() -> Sequence[EnginePlugin]:
    """Return the plugins of all engines, in their order. Of two of one name the first is taken, the other is logged."""
    plugins: dict[str, EnginePlugin] = {}
    for plugin in (*_load_shipped(), *_load_installed()):
        if plugin.name in plugins:
            log.warning("there are two engines %s", plugin.name, extra={"action": "engine_twice"})
        plugins.setdefault(plugin.name, plugin)
    return tuple(sorted(plugins.values(), key=lambda plugin: (plugin.position, plugin.name)))


def _load_shipped() -> Iterator[EnginePlugin]:
    for folder in iter_modules(import_module(_PACKAGE).__path__):
        if folder.ispkg:
            yield getattr(import_module(f"{_PACKAGE}.{folder.name}.{_MODULE}"), _ATTRIBUTE)


def _load_installed() -> Iterator[EnginePlugin]:
    for point in entry_points(group=GROUP):
        try:
            loaded = point.load()
        except Exception:
            log.exception("the engine %s cannot be loaded", point.value, extra={"action": "engine_unloadable"})
            continue
        if isinstance(loaded, EnginePlugin):
            yield loaded


def list_text_folders() -> list[Path]:
    """Return the folders of sentences of all engines."""
    return [plugin.texts for plugin in load_plugins() if plugin.texts is not None]


def find_part(slot: Slot[T], engine: str) -> T | None:
    """Return what an engine offers in a slot, None for nothing. Raises TypeError for something of another type."""
    return _load(slot, slot.name, [plugin for plugin in load_plugins() if plugin.name == engine])


def find_part_of_kind(slot: Slot[T], kind: str) -> T | None:
    """Return what is offered in a slot for a kind of definitions, None for nothing. Raises TypeError for something of another type."""
    return _load(slot, f"{slot.name}/{kind}", load_plugins())


def list_parts(slot: Slot[T]) -> dict[str, T]:
    """Return what engines offer in a slot, by the name of the engine."""
    offered = {plugin.name: find_part(slot, plugin.name) for plugin in load_plugins()}
    return {name: part for name, part in offered.items() if part is not None}


def _load(slot: Slot[T], name: str, plugins: Sequence[EnginePlugin]) -> T | None:
    place = next((plugin.parts[name] for plugin in plugins if name in plugin.parts), None)
    if place is None:
        return None
    module, _, attribute = place.partition(":")
    part = getattr(import_module(module), attribute)
    if not isinstance(part, slot.type):
        raise TypeError(f"{place} is no {slot.type.__name__}")
    return part


def list_kinds() -> list[str]:
    """Return the kinds of definitions of all engines."""
    return [kind for plugin in load_plugins() for kind in plugin.kinds]
