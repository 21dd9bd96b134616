"""Reads the access file (YAML): people, HTTP tokens, and what they may do.

A file that becomes invalid or empty changes nothing.
"""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Literal, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from orchestrator.domain.actor import Actor, Mode, Role
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.value_faults import describe_faults
from orchestrator.gate.call.policy_format import describe_yaml_error
from state.canonical import hash_text
from state.clock import SystemClock

log = logging.getLogger(__name__)

T = TypeVar("T")

SETTLED = 1.0
"""Seconds after a write: a half-written file may list fewer people."""


def _validate_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError):  # OSError: the name of a folder of the zone database
        raise ValueError("no such time zone; write one such as Europe/Moscow") from None
    return name


class Person(BaseModel):
    """Of the access file, or joined by invitation."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    telegram_id: int
    name: str
    bitrix_user_id: int | None = None
    role: Role = "manager"
    mode: Mode = "full"
    sees: Literal["own", "all"] | list[int] | None = None
    """Employee numbers. Default: own for managers, all for leads and admins."""
    time_zone: Annotated[str, AfterValidator(_validate_zone)] | None = None
    """Default: that of the employee in the portal, of the portal, or Europe/Moscow."""
    locale: Literal["ru", "en"] = "ru"
    notify: Literal["none", "own"] = "own"
    lead: int | None = None
    """Telegram id of who decides above the limit."""
    deputy: int | None = None
    """For a lead: Telegram id of who decides meanwhile."""
    away: date | None = None
    """For a lead: the last day of absence."""

    def to_actor(self, learned: str | None = None) -> Actor:
        """`learned` is the portal's time zone for the person."""
        sees = self.sees if self.sees is not None else ("own" if self.role == "manager" else "all")
        return Actor(
            key=f"tg:{self.telegram_id}",
            name=self.name,
            role=self.role,
            max_mode=self.mode,
            sees=sees if isinstance(sees, str) else tuple(sees),
            bitrix_user_id=self.bitrix_user_id,
            time_zone=self.time_zone or learned or "Europe/Moscow",
            locale=self.locale,
        )


class TokenGrant(BaseModel):
    """Its token and role are in HTTP_API_TOKENS."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    bitrix_user_id: int | None = None
    sees: Literal["own", "all"] | list[int] | None = None
    """Employee numbers. Default: own for a manager with a `bitrix_user_id`, else all."""
    time_zone: Annotated[str, AfterValidator(_validate_zone)] | None = None
    locale: Literal["ru", "en"] = "ru"
    customers: bool = False
    """Customers write its messages, so every write needs a confirmation."""
    words: Literal["program", "own"] = "program"
    """Of a program, which may pass on anybody's, or of the person behind it."""


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    people: list[Person] = Field(default_factory=list)
    http_tokens: list[TokenGrant] = Field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class FileNews:
    """`faults` says why the file is invalid."""

    content: str
    people: tuple[Person, ...] = ()
    tokens: tuple[TokenGrant, ...] = ()
    faults: str = ""


class AccessFile:
    """Polling an unchanged file costs one stat call."""

    def __init__(self, path: Path, wall: Callable[[], float] = lambda: SystemClock().now().timestamp()) -> None:
        """`wall` returns Unix seconds."""
        self._path, self._wall = path, wall
        self._stamp, self._content = _read_stamp(path), _hash_content(path)

    def poll(self) -> FileNews | None:
        """None without a change that is `SETTLED` seconds old. Never raises."""
        stand = _read_stamp(self._path)
        if stand == self._stamp or (stand and 0 <= self._wall() - stand[0] / 1e9 < SETTLED):
            return None
        content = _hash_content(self._path)
        self._stamp = stand
        if content == self._content:
            return None
        self._content = content
        version = f"{content[:16]}:{stand[0] if stand else 0}"
        try:
            access_file = read_access_file(self._path)
        except SettingsError as error:
            log.warning("the list of people has become faulty, the old one stays: %s", error.reason, extra={"action": "access_faulty"})
            return FileNews(content=version, faults=error.reason.removeprefix(f"ACCESS_FILE {self._path}: "))
        if not access_file.people and not access_file.http_tokens:
            log.warning("the list of people has become empty, the old one stays", extra={"action": "access_faulty"})
            return FileNews(content=version, faults="nobody is listed")
        log.info("the list of people was read anew", extra={"action": "access_changed"})
        return FileNews(content=version, people=tuple(access_file.people), tokens=tuple(access_file.http_tokens))


def read_people(path: Path) -> list[Person]:
    """Raises SettingsError."""
    return read_access_file(path).people


def read_access_file(path: Path) -> _File:
    """Raises SettingsError that names the file, the entry and the fix."""
    try:
        content: object = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except OSError as error:
        raise SettingsError(f"ACCESS_FILE {path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"ACCESS_FILE {path}: no UTF-8 text") from error
    except yaml.YAMLError as error:
        raise SettingsError(f"ACCESS_FILE {path}: no valid YAML{describe_yaml_error(error)}") from error
    try:
        file = _File.model_validate(content)
    except ValidationError as error:
        raise SettingsError(f"ACCESS_FILE {path}: {describe_faults(error, content)}") from error
    if twice := _find_duplicate([person.telegram_id for person in file.people]):
        raise SettingsError(f"ACCESS_FILE {path}: telegram_id {twice} is listed twice")
    if same := _find_duplicate([token.name for token in file.http_tokens]):
        raise SettingsError(f"ACCESS_FILE {path}: the token {same} is listed twice in http_tokens")
    return file


def _find_duplicate(names: Sequence[T]) -> T | None:
    often = Counter(names)
    return next((name for name, entries in often.items() if entries > 1), None)


def _read_stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        info = path.stat()
    except OSError:
        return None
    return info.st_mtime_ns, info.st_size, info.st_ino


def _hash_content(path: Path) -> str:
    try:
        return hash_text(path.read_bytes().decode("utf-8", "replace"))
    except OSError:
        return ""
