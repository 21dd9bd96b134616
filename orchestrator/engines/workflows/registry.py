"""All types of runes that this program can do: its own, and those of plugins."""

import logging
from collections.abc import Iterable
from importlib.metadata import entry_points
from typing import Final

from orchestrator.engines.workflows.rune_types import AnyRuneType, RuneType, RuneTypes
from orchestrator.engines.workflows.runes import computing, outside, prompting

GROUP: Final = "sdelka.workflow_runes"
"""The group of entry points by which plugins add types; each names a `RuneType`."""
OWN: Final[tuple[AnyRuneType, ...]] = (*prompting.TYPES, *computing.TYPES, *outside.TYPES)
log = logging.getLogger(__name__)


def build_rune_types(more: Iterable[AnyRuneType] = ()) -> RuneTypes:
    """Return the types by name. Raises ValueError if two have one name."""
    found: RuneTypes = {}
    for one in (*OWN, *more):
        if one.name in found:
            raise ValueError(f"two types of runes are called {one.name}")
        found[one.name] = one
    return found


def load_plugins() -> list[AnyRuneType]:
    """Return the types of installed plugins. One that cannot be loaded is named in the log, and its runes count as unknown."""
    found: list[AnyRuneType] = []
    for point in entry_points(group=GROUP):
        try:
            loaded = point.load()
        except Exception:
            log.exception("the plugin %s cannot be loaded", point.name, extra={"action": "workflow_plugin_failed"})
            continue
        if isinstance(loaded, RuneType):
            found.append(loaded)
        else:
            log.error("the plugin %s is no type of runes", point.name, extra={"action": "workflow_plugin_failed"})
    return found
