"""What an engine offers: the form of its plugin. Light, because every command of the terminal reads it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Slot(Generic[T]):
    """A place where engines may offer something: its name, and the type of what they offer. Each belongs to the door that asks it."""

    name: str
    type: type[T]


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
    kinds: tuple[str, ...] = ()
    """The kinds of definitions that it has: its own, and its parts."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """What it offers: "module:attribute" by the name of a slot, or by "slot/kind" for what belongs to one kind. Imported when asked for."""
    terminal: tuple[TerminalGroup, ...] = ()
    texts: Path | None = None
    """The folder of its sentences: ru/*.ftl and en/*.ftl."""
