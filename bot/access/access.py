"""Decides who may use the bot: people of the access file and people who joined by invitation.

The registry is the event stream about who joined, left, and chose which settings.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

from bot.access.access_file import AccessFile, FileNews, Person, TokenGrant, read_access_file
from orchestrator.domain.actor import Absence, Actor
from orchestrator.domain.inputs import SYSTEM, AccessFileChange
from orchestrator.features.people.registry import DEFAULTS, STREAM, extract_registry
from orchestrator.language.time_zones import is_zone
from state.clock import SystemClock, read_boottime
from state.journal.async_store import AsyncStore
from state.journal.journal import load_state
from state.journal.store import InboxRow, Store
from state.model.registry import SESSION, JoinedPerson, Registry

__all__ = ["Access", "Person", "load_access"]

log = logging.getLogger(__name__)

LOOK_EVERY = 3.0
"""Seconds between looks at the registry."""
RELOAD = 300.0
"""Seconds after which the registry is read in any case."""
_LONGEST_FAULT = 400
GRACE = 60.0
"""Seconds without the database before people who joined count as strangers."""


class Access:
    """The people who may use the bot now, in memory.

    A person key such as "tg:7" contains the Telegram id. An actor is a person with rights, language and time zone.
    """

    def __init__(self, people: Sequence[Person], *, file: AccessFile | None = None, tokens: Sequence[TokenGrant] = ()) -> None:
        """With `file`, `watch_registry` applies its later changes."""
        self._tokens = {token.name: token for token in tokens}
        self._file_people: dict[int, Person] = {person.telegram_id: person for person in people}
        self._access_file = file
        self._pending_news: list[InboxRow] = []
        self._zones: dict[int, str] = {}
        self._actors: dict[int, tuple[Person, str | None, Actor]] = {}
        self._zone_of: Callable[..., Awaitable[str]] | None = None
        self._registry = Registry()
        self._seq = -1
        self._by_telegram: dict[int, Person] = self._merge_people()

    def find_actor(self, telegram_id: int) -> Actor | None:
        """With the rights of now; None for a stranger."""
        person = self._by_telegram.get(telegram_id)
        return self._build_actor(person) if person else None

    def _build_actor(self, person: Person) -> Actor:
        zone, number = self._zones.get(person.telegram_id), person.telegram_id
        built = self._actors.get(number)
        if built is None or built[0] is not person or built[1] != zone:
            built = self._actors[number] = person, zone, person.to_actor(zone)
        return built[2]

    def refresh_actor(self, actor: Actor) -> Actor | None:
        """None if the person lost access; an actor outside Telegram is returned unchanged."""
        return self.find_actor_by_key(actor.key) if actor.key.startswith("tg:") else actor

    def find_grant(self, name: str) -> TokenGrant | None:
        """None if the file does not list the token."""
        return self._tokens.get(name)

    def find_actor_by_key(self, key: str) -> Actor | None:
        """None for strangers."""
        return self.find_actor(_parse_telegram_id(key))

    def find_listed_actor(self, telegram_id: int) -> Actor | None:
        """Also of dismissed people: only for the language of a text."""
        person = self._merge_people().get(telegram_id)
        return (
            _apply_preferences(person, self.resolve_preferences(f"tg:{telegram_id}")).to_actor(self._zones.get(telegram_id))
            if person
            else None
        )

    def list_people(self) -> list[Actor]:
        return [self._build_actor(person) for person in self._by_telegram.values()]

    def list_admins(self) -> list[Actor]:
        return [actor for actor in self.list_people() if actor.role == "admin"]

    def map_employees(self) -> dict[str, int]:
        """By person key, also of dismissed people."""
        return {
            f"tg:{number}": person.bitrix_user_id for number, person in self._merge_people().items() if person.bitrix_user_id is not None
        }

    def find_lead(self, key: str) -> str:
        """ "" if none is named."""
        person = self._by_telegram.get(_parse_telegram_id(key))
        return f"tg:{person.lead}" if person is not None and person.lead is not None else ""

    def find_absence(self, key: str) -> Absence | None:
        """None without absence or access; the day may have passed."""
        person = self._by_telegram.get(_parse_telegram_id(key))
        if person is None or person.away is None:
            return None
        return Absence(until=person.away, deputy=f"tg:{person.deputy}" if person.deputy is not None else "")

    def find_name(self, key: str) -> str:
        """ "" for strangers."""
        person = self._merge_people().get(_parse_telegram_id(key))
        return person.name if person else ""

    def find_dismissal(self, key: str) -> str:
        """ISO 8601; "" for everybody else."""
        return self._registry.out.get(key, "")

    def find_present_name(self, chat: int) -> str | None:
        """None without access now."""
        person = self._by_telegram.get(chat)
        return person.name if person else None

    def is_fixed(self, key: str) -> bool:
        return _parse_telegram_id(key) in self._file_people

    def resolve_preferences(self, key: str) -> Mapping[str, str]:
        """The person's choice goes before the file; a missing setting has its default."""
        person = self._file_people.get(_parse_telegram_id(key))
        ours = {"alerts": "off"} if person is not None and person.notify == "none" else {}
        return {**ours, **self._registry.preferences.get(key, {})}

    def is_subscribed(self, actor: Actor, what: str) -> bool:
        """ "digest", "evening" or "alerts". False without access."""
        present = _parse_telegram_id(actor.key) in self._by_telegram
        return present and self.resolve_preferences(actor.key).get(what, DEFAULTS[what]) == "on"

    def find_subscribers(self, user_id: int) -> list[Actor]:
        """One for each Telegram account that wants to be notified of changes."""
        mine = [person for person in self._by_telegram.values() if person.bitrix_user_id == user_id]
        return [actor for actor in map(self._build_actor, mine) if self.is_subscribed(actor, "alerts")]

    async def fetch_zones(self, zone_of: Callable[..., Awaitable[str]]) -> None:
        self._zone_of = zone_of
        for person in list(self._by_telegram.values()):
            if person.time_zone is None:
                self._zones[person.telegram_id] = await zone_of(user_id=person.bitrix_user_id)

    def list_watched_users(self) -> list[int]:
        numbers = {actor.bitrix_user_id for actor in self.list_people() if self.is_subscribed(actor, "alerts")}
        return sorted(number for number in numbers if number is not None)

    def apply_registry(self, registry: Registry, seq: int) -> None:
        """A registry older than the applied one is ignored."""
        if seq < self._seq:
            return
        self._registry, self._seq = deepcopy(registry), seq
        employed = {number: person for number, person in self._merge_people().items() if f"tg:{number}" not in registry.out}
        self._by_telegram = {
            number: _apply_preferences(person, self.resolve_preferences(f"tg:{number}")) for number, person in employed.items()
        }
        for key, joined in registry.people.items():
            if is_zone(joined.time_zone):
                self._zones.setdefault(_parse_telegram_id(key), joined.time_zone)

    def discard_registry(self) -> None:
        """Called when the registry cannot be read for too long: only people of the file keep access."""
        self.apply_registry(replace(self._registry, people={}), self._seq)
        self._seq = -1

    async def load_registry(self, store: AsyncStore) -> None:
        """If this fails, only people of the file have access."""
        try:
            await self.reload_registry(store)
        except Exception:  # see `watch_registry`
            log.exception("the registry of people cannot be read", extra={"action": "registry_unreadable"})

    async def watch_registry(self, store: AsyncStore) -> None:
        """Until cancelled. After `GRACE` seconds of failures `discard_registry` is called."""
        failing_since: float | None = None
        read_at = -RELOAD
        while True:
            await self._sync_file(store)
            try:
                read_at = await self._reload_if_changed(store, read_at)
                failing_since = None
            except Exception:  # a damaged record, a newer program, a lost database: any failure must deny access
                failing_since = read_boottime() if failing_since is None else failing_since
                log.exception("the registry of people cannot be read", extra={"action": "registry_unreadable"})
                if read_boottime() - failing_since >= GRACE:
                    self.discard_registry()
            await asyncio.sleep(LOOK_EVERY)

    async def _sync_file(self, store: AsyncStore) -> None:
        """As an inbox row, whose handler tells the administrators. Never raises."""
        try:
            news = await asyncio.to_thread(self._access_file.poll) if self._access_file is not None else None
            if news is not None:
                self.apply_file_news(news)
                await self._fetch_new_zones()
            if self._pending_news:
                await store.put_inbox(self._pending_news)
                self._pending_news.clear()
                for listener in store.listeners:
                    listener()
        except Exception:  # the last valid list stays in force
            log.exception("the access file cannot be followed", extra={"action": "access_not_followed"})

    def apply_file_news(self, news: FileNews) -> None:
        """The next `_sync_file` stores the inbox row."""
        before = set(self._by_telegram)
        if not news.faults:
            self._file_people = {person.telegram_id: person for person in news.people}
            self._tokens = {token.name: token for token in news.tokens}
            self.apply_registry(self._registry, self._seq)
        left = sorted(f"tg:{number}" for number in before - set(self._by_telegram))
        change = AccessFileChange(left=tuple(left), count=len(self._file_people), faults=news.faults[:_LONGEST_FAULT])
        source = f"{change.KIND}:{news.content}"
        self._pending_news.append(change.to_row(SESSION, source=source, actor=SYSTEM, now=SystemClock().now()))

    async def _fetch_new_zones(self) -> None:
        """Without waiting for the hourly `fetch_zones`."""
        for number, person in list(self._by_telegram.items()):
            if person.time_zone is None and number not in self._zones and self._zone_of is not None:
                self._zones[number] = await self._zone_of(user_id=person.bitrix_user_id)

    async def _reload_if_changed(self, store: AsyncStore, read_at: float) -> float:
        seq = await store.read(_read_head)
        if seq == self._seq and read_boottime() - read_at < RELOAD:
            return read_at
        await self.reload_registry(store)
        return read_boottime()

    async def reload_registry(self, store: AsyncStore) -> None:
        state, seq = await store.read(load_state, STREAM)
        self._seq = min(self._seq, seq)
        self.apply_registry(extract_registry(state), seq)

    def map_listed(self) -> dict[str, Person]:
        """Also dismissed people."""
        return {f"tg:{number}": person for number, person in self._merge_people().items()}

    def _merge_people(self) -> dict[int, Person]:
        return _mark_namesakes({**_build_joined_people(self._registry.people), **self._file_people}, self._file_people)

    def __len__(self) -> int:
        return len(self._by_telegram)


def _read_head(store: Store) -> int:
    return store.read_head(STREAM)[0]


def _parse_telegram_id(key: str) -> int:
    """0, which nobody has, for other keys than "tg:<id>"."""
    kind, _, number = key.partition(":")
    return int(number) if kind == "tg" and number.isascii() and number.isdecimal() else 0


def _build_joined_people(people: Mapping[str, JoinedPerson]) -> dict[int, Person]:
    by_number = ((_parse_telegram_id(key), item) for key, item in people.items())
    return {
        number: Person(telegram_id=number, name=item.name, role=item.role, bitrix_user_id=item.bitrix_user_id, locale=item.locale)
        for number, item in by_number
    }


def _mark_namesakes(people: Mapping[int, Person], file: Mapping[int, Person]) -> dict[int, Person]:
    """ "Anna (Telegram 7)" where a name does not identify one account.

    Also for a joined person with the employee number of another.
    """
    names = Counter(person.name.casefold() for person in people.values())
    employees = Counter(person.bitrix_user_id for person in people.values())
    marked = dict(people)
    for number, person in people.items():
        if names[person.name.casefold()] > 1 or (number not in file and employees[person.bitrix_user_id] > 1):
            marked[number] = person.model_copy(update={"name": f"{person.name} (Telegram {number})"})
    return marked


def _apply_preferences(person: Person, chosen: Mapping[str, str]) -> Person:
    """Rights cannot be set this way."""
    locale, zone = chosen.get("locale", ""), chosen.get("time_zone", "")
    wishes = {**({"locale": locale} if locale in ("ru", "en") else {}), **({"time_zone": zone} if is_zone(zone) else {})}
    return person.model_copy(update=wishes) if wishes else person


def load_access(path: Path | None) -> Access:
    """Raises SettingsError that names the file, the entry and the fix."""
    if path is None:
        return Access([])
    access_file = read_access_file(path)
    return Access(access_file.people, file=AccessFile(path), tokens=access_file.http_tokens)
