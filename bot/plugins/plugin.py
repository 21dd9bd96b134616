"""What an engine offers: the form of its plugin. Light, because every command of the terminal reads it."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar, cast

if TYPE_CHECKING:
    from bot.plugins.faces import HttpFace, KindFace, RunFace, Wiring

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Part(Generic[T]):
    """A part of a plugin by "module:attribute"; it is imported when it is first asked for."""

    place: str

    def load(self) -> T:
        """Return the part."""
        module, _, name = self.place.partition(":")
        return cast("T", getattr(import_module(module), name))


@dataclass(frozen=True, kw_only=True, slots=True)
class TerminalGroup:
    """A group of commands: `sdelka NAME …`."""

    name: str
    summary: str
    module: str
    """The module with the Typer application `app`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EnginePlugin:
    """One engine of runs with all that the doors show of it."""

    name: str
    """The name of the engine, under which runs are stored; it must never change."""
    position: int = 100
    """Where it stands where engines are listed."""
    wiring: "Part[Wiring]"
    kinds: "Mapping[str, Part[KindFace]]" = field(default_factory=dict)
    """The faces of the kinds of definitions that it has: its own, and its parts."""
    runs: "Part[RunFace] | None" = None
    http: "Part[HttpFace] | None" = None
    terminal: tuple[TerminalGroup, ...] = ()
    lifetime: Part[Callable[[Path, str], AbstractContextManager[None]]] | None = None
    """What lasts as long as the process, such as a log of its own; it gets the folder of logs and the level."""
    large_bodies: tuple[str, ...] = ()
    """The paths of its own that take documents, which may be larger than other bodies."""
    texts: Path | None = None
    """The folder of its sentences: ru/*.ftl and en/*.ftl."""
