"""Finds the engines: the folders of the package `engines`, and what installed packages name by entry points."""

import logging
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Final

from bot.plugins.plugin import EnginePlugin

if TYPE_CHECKING:
    from bot.plugins.faces import HttpFace, KindFace, RunFace

_PACKAGE: Final = "engines"
_MODULE: Final = "plugin"
_ATTRIBUTE: Final = "PLUGIN"
GROUP: Final = "sdelka.engines"
log = logging.getLogger(__name__)


@cache
def load_plugins() -> Sequence[EnginePlugin]:
    """Return the plugins of all engines, in their order. Of two with one name the shipped one is taken, and the other is named in the log."""
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


@cache
def find_kind_face(kind: str) -> "KindFace | None":
    """Return what a kind of definitions shows; None for a kind that shows nothing."""
    part = next((plugin.kinds[kind] for plugin in load_plugins() if kind in plugin.kinds), None)
    return part.load() if part is not None else None


@cache
def find_run_face(engine: str) -> "RunFace | None":
    """Return what the runs of an engine show; None for an engine that shows nothing of its own."""
    part = next((plugin.runs for plugin in load_plugins() if plugin.name == engine), None)
    return part.load() if part is not None else None


def load_http_faces() -> "list[HttpFace]":
    """Return the endpoints of the engines that have their own."""
    return [plugin.http.load() for plugin in load_plugins() if plugin.http is not None]


def list_large_bodies() -> list[str]:
    """Return the paths of engines' own that take documents."""
    return [path for plugin in load_plugins() for path in plugin.large_bodies]


def list_kinds() -> list[str]:
    """Return the kinds of definitions of all engines."""
    return [kind for plugin in load_plugins() for kind in plugin.kinds]
