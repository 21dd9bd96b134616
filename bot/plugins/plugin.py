"""What an engine offers: the form of its plugin. Light, because every command of the terminal reads it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Generic, TypeVar

T = TypeVar("T")
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}")


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

    def __post_init__(self) -> None:
        """Raise TypeError or ValueError for what no command can be made of, which would stop every other one."""
        if not isinstance(self.summary, str) or not isinstance(self.module, str):
            raise TypeError("the summary and the module of a TerminalGroup must be texts")
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"{self.name!r} is no name of a TerminalGroup: small letters, digits, - and _, a letter first")


@dataclass(frozen=True, kw_only=True, slots=True)
class EnginePlugin:
    """One engine, of runs or of turns, with all that the doors show of it."""

    name: str
    """The name of the engine, under which runs and turns are stored; it must never change."""
    position: int = 100
    """Where it stands where engines are listed."""
    kinds: tuple[str, ...] = ()
    """The kinds of definitions that it has: first the one that it runs, then its parts."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """What it offers: "module:attribute" by the name of a slot, or by "slot/kind" for what belongs to one kind. Imported when asked for."""
    terminal: tuple[TerminalGroup, ...] = ()
    texts: Path | None = None
    """The folder of its sentences: ru/*.ftl and en/*.ftl."""

    def __post_init__(self) -> None:
        """Raise TypeError or ValueError for what no door could use: the plugin is then left out, and the program goes on."""
        if not isinstance(self.position, int):
            raise TypeError("position must be a number")
        if not isinstance(self.kinds, tuple):
            raise TypeError("kinds must be a tuple of names")
        if not isinstance(self.parts, Mapping) or not all(isinstance(place, str) for place in self.parts.values()):
            raise TypeError('parts must map names of slots to texts "module:attribute"')
        if not isinstance(self.terminal, tuple) or not all(isinstance(group, TerminalGroup) for group in self.terminal):
            raise TypeError("terminal must be a tuple of TerminalGroup")
        if not isinstance(self.texts, Path | None):
            raise TypeError("texts must be a Path")
        for name in (self.name, *self.kinds):
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} is no name of an engine or kind: small letters, digits, - and _, a letter first")
        if stray := [slot for slot in self.parts if "/" in slot and slot.partition("/")[2] not in self.kinds]:
            raise ValueError(f"{stray[0]} is for a kind that does not stand in kinds")
