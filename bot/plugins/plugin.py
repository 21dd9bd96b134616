"""The form of a plugin. Light, because every command of the terminal reads it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Generic, TypeVar

T = TypeVar("T")
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class Slot(Generic[T]):
    """Engines may offer something of this type; the door that asks owns it."""

    name: str
    type: type[T]


@dataclass(frozen=True, kw_only=True, slots=True)
class TerminalGroup:
    """`sdelka NAME …`."""

    name: str
    summary: str
    module: str

    def __post_init__(self) -> None:
        """Raise TypeError or ValueError for what would stop all other commands."""
        if not isinstance(self.summary, str) or not isinstance(self.module, str):
            raise TypeError("the summary and the module of a TerminalGroup must be texts")
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"{self.name!r} is no name of a TerminalGroup: small letters, digits, - and _, a letter first")


@dataclass(frozen=True, kw_only=True, slots=True)
class EnginePlugin:
    """All that the doors show of one engine."""

    name: str
    """Runs and turns are stored under it; it must never change."""
    position: int = 100
    kinds: tuple[str, ...] = ()
    """First the one that it runs, then its parts."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """"module:attribute" by "slot" or "slot/kind"; imported when asked for."""
    terminal: tuple[TerminalGroup, ...] = ()
    texts: Path | None = None
    """Of its sentences: ru/*.ftl and en/*.ftl."""

    def __post_init__(self) -> None:
        """Raise TypeError or ValueError: the plugin is left out, the program goes on."""
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
