"""Who may use the bot: the access file (YAML), deny by default (DESIGN §6). Ring 3."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from orchestrator.errors import SettingsError
from orchestrator.messages import Actor, Mode, Role


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError):  # a folder of the zone database is no zone either
        raise ValueError("no such time zone; write one such as Europe/Moscow") from None
    return name


class Person(BaseModel):
    """One entry of the access file."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    telegram_id: int
    name: str
    bitrix_user_id: int | None = None
    role: Role = "manager"
    mode: Mode = "full"
    sees: Literal["own", "all"] | list[int] | None = None
    """Default: own for managers, all for leads and admins."""
    time_zone: Annotated[str, AfterValidator(_zone)] | None = None
    """Default: the employee's own in the portal, else the portal's; until that is read, Moscow's."""
    locale: Literal["ru", "en"] = "ru"
    notify: Literal["none", "own"] = "own"
    """Whether changes of their own records in the portal are told to them."""

    def actor(self, learned: str | None = None) -> Actor:
        """The person as the orchestrator knows them; `learned` is the zone that the portal gives them."""
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


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    people: list[Person] = Field(default_factory=list)


class Access:
    """The people of the access file, by Telegram id."""

    def __init__(self, people: list[Person]) -> None:
        """Two entries for one Telegram id are an error."""
        self._by_telegram: dict[int, Person] = {}
        self._zones: dict[int, str] = {}
        for person in people:
            if person.telegram_id in self._by_telegram:
                raise SettingsError(f"ACCESS_FILE: telegram_id {person.telegram_id} is listed twice")
            self._by_telegram[person.telegram_id] = person

    def actor(self, telegram_id: int) -> Actor | None:
        """The person's rights, None for a stranger."""
        person = self._by_telegram.get(telegram_id)
        return person.actor(self._zones.get(telegram_id)) if person else None

    def present(self, actor: Actor) -> Actor | None:
        """The rights that `actor` has now: those of the file for people in Telegram, their own for everybody else."""
        kind, _, number = actor.key.partition(":")
        return self.actor(int(number)) if kind == "tg" else actor

    def people_by_bitrix(self, user_id: int) -> list[Actor]:
        """Those who are this employee in the portal and want to be told of changes of their records."""
        mine = (person for person in self._by_telegram.values() if person.bitrix_user_id == user_id and person.notify == "own")
        return [person.actor(self._zones.get(person.telegram_id)) for person in mine]

    async def learn_zones(self, zone_of: Callable[..., Awaitable[str]]) -> None:
        """Ask the portal for the time zones that the file does not give; `zone_of(user_id=…)` never fails."""
        for person in self._by_telegram.values():
            if person.time_zone is None:
                self._zones[person.telegram_id] = await zone_of(user_id=person.bitrix_user_id)

    def bitrix_users(self) -> list[int]:
        """The employees whose records somebody wants to be told of."""
        numbers = {person.bitrix_user_id for person in self._by_telegram.values() if person.notify == "own"}
        return sorted(number for number in numbers if number is not None)

    def __len__(self) -> int:
        """How many people may use the bot."""
        return len(self._by_telegram)


def load_access(path: Path | None) -> Access:
    """Read the access file; raises SettingsError that names file, entry and mending. No file: nobody has access."""
    if path is None:
        return Access([])
    try:
        content: Any = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except OSError as error:
        raise SettingsError(f"ACCESS_FILE {path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"ACCESS_FILE {path}: no UTF-8 text") from error
    except yaml.YAMLError as error:
        raise SettingsError(f"ACCESS_FILE {path}: no valid YAML: {error}") from error
    try:
        return Access(_File.model_validate(content).people)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}" for item in error.errors())
        raise SettingsError(f"ACCESS_FILE {path}: {faults}") from error
