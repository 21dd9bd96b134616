import logging
from collections import Counter
from collections.abc import Iterable
from importlib.metadata import entry_points
from typing import Protocol, TypeVar

log = logging.getLogger(__name__)


class Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)


def index_types(kinds: Iterable[N], what: str) -> dict[str, N]:
    """By name. Raises ValueError if two have one."""
    by_name: dict[str, N] = {}
    for kind in kinds:
        if kind.name in by_name:
            raise ValueError(f"two {what} are called {kind.name}")
        by_name[kind.name] = kind
    return by_name


def load_types(group: str, kind: type[N], own: Iterable[Named]) -> list[N]:
    """A wrong kind is logged and left out; of two with one name both are."""
    types_by_point: list[tuple[str, N]] = []
    for point in entry_points(group=group):
        try:
            loaded = point.load()
        except Exception:
            log.exception("the plugin %s cannot be loaded", point.name, extra={"action": "plugin_failed"})
            continue
        if isinstance(loaded, kind):
            types_by_point.append((point.name, loaded))
        else:
            log.error("the plugin %s is no %s", point.name, kind.__name__, extra={"action": "plugin_failed"})
    names = Counter([*(one.name for one in own), *(loaded.name for _, loaded in types_by_point)])
    for point_name, loaded in types_by_point:
        if names[loaded.name] > 1:
            message = "the plugin %s is left out: another type is called %s, too; its package has to choose another name"
            log.error(message, point_name, loaded.name, extra={"action": "plugin_failed"})
    return [loaded for _, loaded in types_by_point if names[loaded.name] == 1]
