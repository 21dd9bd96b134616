"""Decides who may use the bot: the people of the access file and the people who joined by invitation. Everybody else is denied.

The registry is the event stream in the database that records who joined, who was removed or dismissed, and people's chosen settings.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

from bot.access.access_file import AccessFile, FileNews, Person, TokenGrant, read_access_file
from orchestrator.domain.actor import Actor
from orchestrator.domain.staff import Absence
from orchestrator.features.people.access_removal import build_file_row
from orchestrator.features.people.registry import STREAM, extract_registry
from orchestrator.features.people.screens import DEFAULTS
from orchestrator.language.time_zones import is_zone
from state.clock import SystemClock, read_boottime
from state.journal.async_store import AsyncStore
from state.journal.journal import load_state
from state.journal.store import InboxRow, Store
from state.model.registry import JoinedPerson, Registry

__all__ = ["Access", "Person", "load_access"]

log = logging.getLogger(__name__)

LOOK_EVERY = 3.0
"""Seconds between checks whether the registry (the event stream of people who joined by invitation) has grown."""
RELOAD = 300.0
"""Seconds after which the registry is read again even if its event stream has not grown."""
GRACE = 60.0
"""Seconds that the database may fail before people who joined by invitation are treated as strangers."""


class Access:
    """The people who may use the bot now: those of the access file and those who joined, without those dismissed in the portal.

    The list is kept in memory, because it is consulted at every message and button click; `apply_registry` and `watch_registry` keep it up
    to date. A person key such as "tg:7" contains the person's Telegram id. An actor is a person together with their rights (role, mode,
    whose records they see), language and time zone.
    """

    def __init__(self, people: Sequence[Person], *, file: AccessFile | None = None, tokens: Sequence[TokenGrant] = ()) -> None:
        """Create the list from the people and tokens of the access file; if `file` is given, `watch_registry` applies its later changes."""
        self._tokens = {token.name: token for token in tokens}
        self._file_people: dict[int, Person] = {person.telegram_id: person for person in people}
        self._access_file = file
        self._pending_news: list[InboxRow] = []
        self._zones: dict[int, str] = {}
        self._actors: dict[int, tuple[Person, str | None, Actor]] = {}
        """Actors that were built, each with the person and the time zone of which it was made: any other is built anew."""
        self._zone_of: Callable[..., Awaitable[str]] | None = None
        self._registry = Registry()
        self._seq = -1
        self._by_telegram: dict[int, Person] = self._merge_people()

    def find_actor(self, telegram_id: int) -> Actor | None:
        """Return the actor for this Telegram id, with the rights that the person has now; None for a stranger."""
        person = self._by_telegram.get(telegram_id)
        return self._build_actor(person) if person else None

    def _build_actor(self, person: Person) -> Actor:
        zone, number = self._zones.get(person.telegram_id), person.telegram_id
        built = self._actors.get(number)
        if built is None or built[0] is not person or built[1] != zone:
            built = self._actors[number] = person, zone, person.to_actor(zone)
        return built[2]

    def refresh_actor(self, actor: Actor) -> Actor | None:
        """Return the actor with the person's present rights, None if they lost access; an actor outside Telegram is returned unchanged."""
        return self.find_actor_by_key(actor.key) if actor.key.startswith("tg:") else actor

    def find_grant(self, name: str) -> TokenGrant | None:
        """Return the access file's entry for the HTTP API token with this name, None if the file does not list the token."""
        return self._tokens.get(name)

    def find_actor_by_key(self, key: str) -> Actor | None:
        """Return the actor of the person with this key ("tg:7"), None for strangers."""
        return self.find_actor(_parse_telegram_id(key))

    def find_listed_actor(self, telegram_id: int) -> Actor | None:
        """Return the actor of a person who is in the file or joined, even if they were dismissed in the portal; None for a stranger.

        Use it only to choose the language and time zone of a text, not to grant anything.
        """
        person = self._merge_people().get(telegram_id)
        return (
            _apply_preferences(person, self.resolve_preferences(f"tg:{telegram_id}")).to_actor(self._zones.get(telegram_id))
            if person
            else None
        )

    def list_people(self) -> list[Actor]:
        """Return one actor for each person who may use the bot."""
        return [self._build_actor(person) for person in self._by_telegram.values()]

    def list_admins(self) -> list[Actor]:
        """Return the administrators who may use the bot."""
        return [actor for actor in self.list_people() if actor.role == "admin"]

    def map_employees(self) -> dict[str, int]:
        """Return person key → employee number in the portal for everybody who has one, including dismissed people."""
        return {
            f"tg:{number}": person.bitrix_user_id for number, person in self._merge_people().items() if person.bitrix_user_id is not None
        }

    def find_lead(self, key: str) -> str:
        """Return the key of the lead (head of sales) named for this person, "" if the file names none."""
        person = self._by_telegram.get(_parse_telegram_id(key))
        return f"tg:{person.lead}" if person is not None and person.lead is not None else ""

    def find_absence(self, key: str) -> Absence | None:
        """Return the last day of the person's absence and the key of their deputy, as the access file gives them; the day may have passed.

        Returns None if the file gives no absence for the person, or if they have no access.
        """
        person = self._by_telegram.get(_parse_telegram_id(key))
        if person is None or person.away is None:
            return None
        return Absence(until=person.away, deputy=f"tg:{person.deputy}" if person.deputy is not None else "")

    def find_name(self, key: str) -> str:
        """Return the person's name, even if they were dismissed; "" for strangers."""
        person = self._merge_people().get(_parse_telegram_id(key))
        return person.name if person else ""

    def find_dismissal(self, key: str) -> str:
        """Return since when the portal has listed the person as dismissed (ISO 8601); "" for everybody else."""
        return self._registry.out.get(key, "")

    def find_present_name(self, chat: int) -> str | None:
        """Return the name of the person with this private chat; None if they have no access now."""
        person = self._by_telegram.get(chat)
        return person.name if person else None

    def is_fixed(self, key: str) -> bool:
        """Return whether the access file lists the person, so that only the file can remove them."""
        return _parse_telegram_id(key) in self._file_people

    def resolve_preferences(self, key: str) -> Mapping[str, str]:
        """Return the settings that the person chose or the access file gives, by name; the person's choice replaces that of the file.

        A setting that is missing in the result has its default value.
        """
        person = self._file_people.get(_parse_telegram_id(key))
        ours = {"alerts": "off"} if person is not None and person.notify == "none" else {}
        return {**ours, **self._registry.preferences.get(key, {})}

    def is_subscribed(self, actor: Actor, what: str) -> bool:
        """Return whether the person has access and wants messages of the kind `what`.

        "digest" is the morning digest, "evening" the evening summary, and "alerts" are notices of changes to the person's records.
        """
        present = _parse_telegram_id(actor.key) in self._by_telegram
        return present and self.resolve_preferences(actor.key).get(what, DEFAULTS[what]) == "on"

    def find_subscribers(self, user_id: int) -> list[Actor]:
        """Return the actors of this portal employee (one for each Telegram account) who want to be notified of changes to their records."""
        mine = [person for person in self._by_telegram.values() if person.bitrix_user_id == user_id]
        return [actor for actor in map(self._build_actor, mine) if self.is_subscribed(actor, "alerts")]

    async def fetch_zones(self, zone_of: Callable[..., Awaitable[str]]) -> None:
        """Fetch time zones from the portal for all people to whom the access file gives none, and remember them.

        `zone_of(user_id=…)` returns the time zone of one employee. `zone_of` never raises, so this method never raises either.
        """
        self._zone_of = zone_of
        for person in list(self._by_telegram.values()):
            if person.time_zone is None:
                self._zones[person.telegram_id] = await zone_of(user_id=person.bitrix_user_id)

    def list_watched_users(self) -> list[int]:
        """Return the employee numbers of people who want to be notified of changes to their records, in ascending order."""
        numbers = {actor.bitrix_user_id for actor in self.list_people() if self.is_subscribed(actor, "alerts")}
        return sorted(number for number in numbers if number is not None)

    def apply_registry(self, registry: Registry, seq: int) -> None:
        """Replace the people who joined, the dismissals and the chosen settings by those of `registry`.

        `seq` is the number of the last event that the registry includes. An older registry than the one applied last is ignored.
        """
        if seq < self._seq:
            return
        self._registry, self._seq = deepcopy(registry), seq
        listed = {number: person for number, person in self._merge_people().items() if f"tg:{number}" not in registry.out}
        self._by_telegram = {
            number: _apply_preferences(person, self.resolve_preferences(f"tg:{number}")) for number, person in listed.items()
        }
        for key, joined in registry.people.items():
            if is_zone(joined.time_zone):
                self._zones.setdefault(_parse_telegram_id(key), joined.time_zone)

    def discard_registry(self) -> None:
        """Take access from everybody who joined by invitation; called when the registry of these people cannot be read for too long.

        People of the access file keep their access, except those who are known to be dismissed in the portal.
        """
        self.apply_registry(replace(self._registry, people={}), self._seq)
        self._seq = -1

    async def load_registry(self, store: AsyncStore) -> None:
        """Read the registry (people who joined by invitation) once at the start, before the first message is handled.

        If that fails, only people of the access file have access until `watch_registry` succeeds in reading the registry.
        """
        try:
            await self.reload_registry(store)
        except Exception:  # see `watch_registry`
            log.exception("the registry of people cannot be read", extra={"action": "registry_unreadable"})

    async def watch_registry(self, store: AsyncStore) -> None:
        """Apply every change of the registry (people who joined by invitation) and of the access file, until cancelled.

        Changes by other processes are applied too. While the registry cannot be read, nobody new is admitted; after `GRACE` seconds of
        failures `discard_registry` is called.
        """
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
        """Apply a change of the access file, if there is one, and store an inbox row (an input for the orchestrator) that reports it.

        The handler of that row tells the administrators, and closes the open confirmation cards of people who are no longer listed. Never
        raises.
        """
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
        """Apply a change of the access file to everybody's rights at once.

        The inbox row that reports the change is only kept in memory here; the next `_sync_file` stores it in the database.
        """
        before = set(self._by_telegram)
        if not news.faults:
            self._file_people = {person.telegram_id: person for person in news.people}
            self._tokens = {token.name: token for token in news.tokens}
            self.apply_registry(self._registry, self._seq)
        left = sorted(f"tg:{number}" for number in before - set(self._by_telegram))
        self._pending_news.append(
            build_file_row(news.content, left, count=len(self._file_people), faults=news.faults, now=SystemClock().now())
        )

    async def _fetch_new_zones(self) -> None:
        """Fetch the time zones of people who are new in the access file, without waiting for the hourly `fetch_zones` for everybody."""
        for number, person in list(self._by_telegram.items()):
            if person.time_zone is None and number not in self._zones and self._zone_of is not None:
                self._zones[number] = await self._zone_of(user_id=person.bitrix_user_id)

    async def _reload_if_changed(self, store: AsyncStore, read_at: float) -> float:
        """Read the registry (people who joined) again if its event stream has grown or `RELOAD` seconds have passed since `read_at`.

        Returns when the registry was last read, in seconds since boot. The time limit is needed because erasing a person changes stored
        events without adding any.
        """
        seq = await store.read(_read_head)
        if seq == self._seq and read_boottime() - read_at < RELOAD:
            return read_at
        await self.reload_registry(store)
        return read_boottime()

    async def reload_registry(self, store: AsyncStore) -> None:
        """Read the registry (people who joined by invitation) from the database now and apply it; raises the store's errors."""
        state, seq = await store.read(load_state, STREAM)
        self._seq = min(self._seq, seq)
        self.apply_registry(extract_registry(state), seq)

    def map_listed(self) -> dict[str, Person]:
        """Return person key → person for everybody who is in the access file or joined, including dismissed people."""
        return {f"tg:{number}": person for number, person in self._merge_people().items()}

    def _merge_people(self) -> dict[int, Person]:
        """Return Telegram id → person for the people in the access file and those who joined with an invitation, including dismissed ones.

        A person who is in both is taken from the access file.
        """
        return _mark_namesakes({**_build_joined_people(self._registry.people), **self._file_people}, self._file_people)

    def __len__(self) -> int:
        """Return how many people may use the bot."""
        return len(self._by_telegram)


def _read_head(store: Store) -> int:
    return store.read_head(STREAM)[0]


def _parse_telegram_id(key: str) -> int:
    """Return the Telegram id in a person key such as "tg:7"; 0, which nobody has, for any other key."""
    kind, _, number = key.partition(":")
    return int(number) if kind == "tg" and number.isascii() and number.isdecimal() else 0


def _build_joined_people(people: Mapping[str, JoinedPerson]) -> dict[int, Person]:
    found = ((_parse_telegram_id(key), item) for key, item in people.items())
    return {
        number: Person(telegram_id=number, name=item.name, role=item.role, bitrix_user_id=item.bitrix_user_id, locale=item.locale)
        for number, item in found
    }


def _mark_namesakes(people: Mapping[int, Person], file: Mapping[int, Person]) -> dict[int, Person]:
    """Return the people, with the Telegram id added to each name that does not identify one account, such as "Anna (Telegram 7)".

    The id is added to the names of two people who are called the same. It is also added to the name of a person who joined by invitation
    with an employee number that another person has, since both are then accounts of one employee. `people` and `file` map Telegram ids to
    people; `file` holds only those of the access file.
    """
    names = Counter(person.name.casefold() for person in people.values())
    employees = Counter(person.bitrix_user_id for person in people.values())
    found = dict(people)
    for number, person in people.items():
        if names[person.name.casefold()] > 1 or (number not in file and employees[person.bitrix_user_id] > 1):
            found[number] = person.model_copy(update={"name": f"{person.name} (Telegram {number})"})
    return found


def _apply_preferences(person: Person, chosen: Mapping[str, str]) -> Person:
    """Return the person with the language and time zone they chose; rights cannot be set this way."""
    locale, zone = chosen.get("locale", ""), chosen.get("time_zone", "")
    wishes = {**({"locale": locale} if locale in ("ru", "en") else {}), **({"time_zone": zone} if is_zone(zone) else {})}
    return person.model_copy(update=wishes) if wishes else person


def load_access(path: Path | None) -> Access:
    """Return an `Access` with the people and tokens of the access file, an empty one if `path` is None.

    Raises SettingsError that names the file, the entry and the fix.
    """
    if path is None:
        return Access([])
    access_file = read_access_file(path)
    return Access(access_file.people, file=AccessFile(path), tokens=access_file.http_tokens)
