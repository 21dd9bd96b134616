"""Who may use the bot: the access file and the registry of those who joined; deny by default (DESIGN §6). Ring 3."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from bot.access.access_file import AccessFile, FileNews, Person, TokenGrant, read_access_file
from orchestrator.domain.actor import Actor
from orchestrator.features.people.access_removal import build_file_row
from orchestrator.features.people.registry import STREAM, extract_registry
from orchestrator.features.people.screens import DEFAULTS
from orchestrator.gate.call.permissions import Absence
from orchestrator.language.time_zones import is_zone
from state.clock import SystemClock, read_boottime
from state.events.people import create_registry
from state.journal.async_store import AsyncStore
from state.journal.journal import load_state
from state.journal.store import InboxRow, Store

__all__ = ["Access", "Person", "load_access"]

log = logging.getLogger(__name__)

LOOK_EVERY = 3.0
"""Seconds between two looks at the end of the registry's stream."""
RELOAD = 300.0
"""Seconds after which it is read anew although it has not grown."""
GRACE = 60.0
"""Seconds of a database that gives no answer, before those who joined are strangers."""


class Access:
    """Who may use the bot now: the file, and who joined by invitation; without those whom the portal dismissed.

    Asked at every message and press, so it answers from memory; `apply_registry` and `follow` keep it as the registry stands.
    """

    def __init__(self, people: Sequence[Person], *, file: AccessFile | None = None, tokens: Sequence[TokenGrant] = ()) -> None:
        """The people and tokens of the file, which is followed when it is given."""
        self._tokens = {token.name: token for token in tokens}
        self._file_people: dict[int, Person] = {person.telegram_id: person for person in people}
        self._access_file = file
        self._pending_news: list[InboxRow] = []
        self._zones: dict[int, str] = {}
        self._zone_of: Callable[..., Awaitable[str]] | None = None
        self._registry: Mapping[str, Any] = create_registry()
        self._seq = -1
        self._by_telegram: dict[int, Person] = self._merge_people()

    def find_actor(self, telegram_id: int) -> Actor | None:
        """The person's rights, None for a stranger."""
        person = self._by_telegram.get(telegram_id)
        return person.to_actor(self._zones.get(telegram_id)) if person else None

    def refresh_actor(self, actor: Actor) -> Actor | None:
        """The rights that `actor` has now: those of this list for people in Telegram, their own for everybody else."""
        return self.find_actor_by_key(actor.key) if actor.key.startswith("tg:") else actor

    def find_grant(self, name: str) -> TokenGrant | None:
        """What the file says of the HTTP token with that name."""
        return self._tokens.get(name)

    def find_actor_by_key(self, key: str) -> Actor | None:
        """The rights of the person with this key ("tg:7"), None for strangers."""
        return self.find_actor(_parse_telegram_id(key))

    def find_listed_actor(self, telegram_id: int) -> Actor | None:
        """Somebody who is listed, whether or not they have access: only for how to speak to them."""
        person = self._merge_people().get(telegram_id)
        return (
            _apply_preferences(person, self.resolve_preferences(f"tg:{telegram_id}")).to_actor(self._zones.get(telegram_id))
            if person
            else None
        )

    def list_people(self) -> list[Actor]:
        """Everybody who may use the bot."""
        return [person.to_actor(self._zones.get(number)) for number, person in self._by_telegram.items()]

    def list_admins(self) -> list[Actor]:
        """Those who decide about access."""
        return [actor for actor in self.list_people() if actor.role == "admin"]

    def map_employees(self) -> dict[str, int]:
        """Everybody with an employee number, those out of work too: key → employee."""
        return {
            f"tg:{number}": person.bitrix_user_id for number, person in self._merge_people().items() if person.bitrix_user_id is not None
        }

    def find_lead(self, key: str) -> str:
        """The key of the lead named for this person, "" where the file names none."""
        person = self._by_telegram.get(_parse_telegram_id(key))
        return f"tg:{person.lead}" if person is not None and person.lead is not None else ""

    def find_absence(self, key: str) -> Absence | None:
        """Until when somebody is away, and who stands in; also a day that has passed."""
        person = self._by_telegram.get(_parse_telegram_id(key))
        if person is None or person.away is None:
            return None
        return Absence(until=person.away, deputy=f"tg:{person.deputy}" if person.deputy is not None else "")

    def find_name(self, key: str) -> str:
        """What the person is called, also one without access; "" for strangers."""
        person = self._merge_people().get(_parse_telegram_id(key))
        return person.name if person else ""

    def is_fixed(self, key: str) -> bool:
        """Whether the file lists them, so that only the file can remove them."""
        return _parse_telegram_id(key) in self._file_people

    def resolve_preferences(self, key: str) -> Mapping[str, str]:
        """What the person has set, or the file for them; a name that is missing has its default."""
        person = self._file_people.get(_parse_telegram_id(key))
        ours = {"alerts": "off"} if person is not None and person.notify == "none" else {}
        return {**ours, **self._registry["preferences"].get(key, {})}

    def is_subscribed(self, actor: Actor, what: str) -> bool:
        """Whether a person who has access wants "digest", "evening" or "alerts"."""
        present = _parse_telegram_id(actor.key) in self._by_telegram
        return present and self.resolve_preferences(actor.key).get(what, DEFAULTS[what]) == "on"

    def find_subscribers(self, user_id: int) -> list[Actor]:
        """Those who are this employee in the portal and want to be told of changes of their records."""
        mine = [person for person in self._by_telegram.values() if person.bitrix_user_id == user_id]
        actors = (person.to_actor(self._zones.get(person.telegram_id)) for person in mine)
        return [actor for actor in actors if self.is_subscribed(actor, "alerts")]

    async def fetch_zones(self, zone_of: Callable[..., Awaitable[str]]) -> None:
        """Ask the portal for the time zones that the file does not give; `zone_of(user_id=…)` never fails."""
        self._zone_of = zone_of
        for person in list(self._by_telegram.values()):
            if person.time_zone is None:
                self._zones[person.telegram_id] = await zone_of(user_id=person.bitrix_user_id)

    def list_watched_users(self) -> list[int]:
        """The employees whose records somebody wants to be told of."""
        numbers = {actor.bitrix_user_id for actor in self.list_people() if self.is_subscribed(actor, "alerts")}
        return sorted(number for number in numbers if number is not None)

    def apply_registry(self, registry: Mapping[str, Any], seq: int) -> None:
        """The registry as it stands after event `seq`; one that is older than what is known changes nothing."""
        if seq < self._seq:
            return
        self._registry, self._seq = deepcopy(dict(registry)), seq
        out = registry["out"]
        listed = {number: person for number, person in self._merge_people().items() if f"tg:{number}" not in out}
        self._by_telegram = {
            number: _apply_preferences(person, self.resolve_preferences(f"tg:{number}")) for number, person in listed.items()
        }
        for key, joined in registry["people"].items():
            if is_zone(joined["time_zone"]):
                self._zones.setdefault(_parse_telegram_id(key), joined["time_zone"])

    def discard_registry(self) -> None:
        """The registry cannot be read: only the file counts, and nobody comes back whom the portal dismissed."""
        self.apply_registry({**self._registry, "people": {}}, self._seq)
        self._seq = -1

    async def load_registry(self, store: AsyncStore) -> None:
        """Know who joined before anybody is heard; where that cannot be read only the file counts, till `follow` can read it."""
        try:
            await self.reload_registry(store)
        except Exception:  # see follow
            log.exception("the registry of people cannot be read", extra={"action": "registry_unreadable"})

    async def watch_registry(self, store: AsyncStore) -> None:
        """Keep up with the registry, whichever process changes it, until cancelled. What cannot be read lets nobody in."""
        failing_since: float | None = None
        read_at = -RELOAD
        while True:
            await self._sync_file(store)
            try:
                read_at = await self._reload_if_changed(store, read_at)
                failing_since = None
            except Exception:  # a damaged record, a newer program, a lost database: whatever it is, fail closed
                failing_since = read_boottime() if failing_since is None else failing_since
                log.exception("the registry of people cannot be read", extra={"action": "registry_unreadable"})
                if read_boottime() - failing_since >= GRACE:
                    self.discard_registry()
            await asyncio.sleep(LOOK_EVERY)

    async def _sync_file(self, store: AsyncStore) -> None:
        """Who stands in the file now; administrators are told of it, and the cards of those who left it are closed."""
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
        except Exception:  # the list that was good stays in force
            log.exception("the access file cannot be followed", extra={"action": "access_not_followed"})

    def apply_file_news(self, news: FileNews) -> None:
        """The file says something else: rights hold at once, what is to be told waits for `follow`."""
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
        """Of those who came with the file; the others are asked about in their hour."""
        for number, person in list(self._by_telegram.items()):
            if person.time_zone is None and number not in self._zones and self._zone_of is not None:
                self._zones[number] = await self._zone_of(user_id=person.bitrix_user_id)

    async def _reload_if_changed(self, store: AsyncStore, read_at: float) -> float:
        """Read the registry if its stream has grown, or nobody has for long (an erasure changes what is there); when it was read."""
        seq = await store.read(_read_head)
        if seq == self._seq and read_boottime() - read_at < RELOAD:
            return read_at
        await self.reload_registry(store)
        return read_boottime()

    async def reload_registry(self, store: AsyncStore) -> None:
        """Read the registry now; raises what the store raises."""
        state, seq = await store.read(load_state, STREAM)
        self._seq = min(self._seq, seq)
        self.apply_registry(extract_registry(state), seq)

    def map_listed(self) -> dict[str, Person]:
        """Everybody who is listed, those out of work too, by key."""
        return {f"tg:{number}": person for number, person in self._merge_people().items()}

    def _merge_people(self) -> dict[int, Person]:
        """The file and who joined, those out of work too; for one who is in both the file counts."""
        return _mark_namesakes({**_build_joined_people(self._registry["people"]), **self._file_people}, self._file_people)

    def __len__(self) -> int:
        """How many people may use the bot."""
        return len(self._by_telegram)


def _read_head(store: Store) -> int:
    return store.read_head(STREAM)[0]


def _parse_telegram_id(key: str) -> int:
    """The Telegram id in a key; 0, which nobody has, for keys of other doors."""
    kind, _, number = key.partition(":")
    return int(number) if kind == "tg" and number.isascii() and number.isdecimal() else 0


def _build_joined_people(people: Mapping[str, Mapping[str, Any]]) -> dict[int, Person]:
    kept = ("name", "role", "bitrix_user_id", "locale")
    return {
        _parse_telegram_id(key): Person(telegram_id=_parse_telegram_id(key), **{name: item[name] for name in kept})
        for key, item in people.items()
    }


def _mark_namesakes(people: Mapping[int, Person], file: Mapping[int, Person]) -> dict[int, Person]:
    """Whoever joined as an employee who has another account, or is called as somebody else is, has their Telegram number in the name."""
    names = Counter(person.name.casefold() for person in people.values())
    employees = Counter(person.bitrix_user_id for person in people.values())
    found = dict(people)
    for number, person in people.items():
        if names[person.name.casefold()] > 1 or (number not in file and employees[person.bitrix_user_id] > 1):
            found[number] = person.model_copy(update={"name": f"{person.name} (Telegram {number})"})
    return found


def _apply_preferences(person: Person, chosen: Mapping[str, str]) -> Person:
    """The person with the language and zone that they set themselves; their rights are not theirs to set."""
    locale, zone = chosen.get("locale", ""), chosen.get("time_zone", "")
    wishes = {**({"locale": locale} if locale in ("ru", "en") else {}), **({"time_zone": zone} if is_zone(zone) else {})}
    return person.model_copy(update=wishes) if wishes else person


def load_access(path: Path | None) -> Access:
    """Read the access file; raises SettingsError that names file, entry and mending. No file: nobody has access."""
    if path is None:
        return Access([])
    listed = read_access_file(path)
    return Access(listed.people, file=AccessFile(path), tokens=listed.http_tokens)
