"""The types of runes of the program and of plugins."""

from collections.abc import Iterable
from functools import cache
from typing import Final

from engines.workflows.core.rune_types import AnyRuneType, RuneType, RuneTypes
from engines.workflows.core.runes import computing, outside, prompting
from orchestrator.engines.plugins import index_types, load_types

GROUP: Final = "sdelka.workflow_runes"
"""Entry points by which plugins add types; each names a `RuneType`."""
OWN: Final[tuple[AnyRuneType, ...]] = (*prompting.TYPES, *computing.TYPES, *outside.TYPES)


def build_rune_types(more: Iterable[AnyRuneType] = ()) -> RuneTypes:
    """Raises ValueError if two have one name."""
    return index_types((*OWN, *more), "types of runes")


def load_plugins() -> list[AnyRuneType]:
    """See `load_types` for those that are left out."""
    return load_types(GROUP, RuneType, OWN)


@cache
def load_rune_types() -> RuneTypes:
    """Installed plugins are looked up once per process."""
    return build_rune_types(load_plugins())
