"""Loads the types of steps and runes that installed packages add by entry points."""

import logging
from collections import Counter
from collections.abc import Iterable
from importlib.metadata import entry_points
from typing import Protocol, TypeVar

log = logging.getLogger(__name__)


class Named(Protocol):
    """A type of steps or runes."""

    @property
    def name(self) -> str:
        """The name by which documents ask for it."""


N = TypeVar("N", bound=Named)


def load_types(group: str, kind: type[N], own: Iterable[Named]) -> list[N]:
    """Return what the entry points of `group` name, if it is of this `kind` and no other type, `own` ones included, has its name.

    What is left out is named in the log, and counts as unknown: whoever uses it is told so, and everybody else is served. Of two plugins
    with one name neither is taken, or the order in which they were installed would say which of them a document means.
    """
    found: list[tuple[str, N]] = []
    for point in entry_points(group=group):
        try:
            loaded = point.load()
        except Exception:
            log.exception("the plugin %s cannot be loaded", point.name, extra={"action": "plugin_failed"})
            continue
        if isinstance(loaded, kind):
            found.append((point.name, loaded))
        else:
            log.error("the plugin %s is no %s", point.name, kind.__name__, extra={"action": "plugin_failed"})
    names = Counter([*(one.name for one in own), *(loaded.name for _, loaded in found)])
    for point_name, loaded in found:
        if names[loaded.name] > 1:
            told = "the plugin %s is left out: another type is called %s, too; its package has to choose another name"
            log.error(told, point_name, loaded.name, extra={"action": "plugin_failed"})
    return [loaded for _, loaded in found if names[loaded.name] == 1]
