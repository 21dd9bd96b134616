"""The complete state of one running sandbox, which is passed to each function; it contains no rules of Telegram."""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from sandbox.telegram.clock import SandboxClock
from sandbox.telegram.counters import Counters
from sandbox.telegram.faults import Faults
from sandbox.telegram.hub import Hub
from sandbox.telegram.limits import RateWatch
from sandbox.telegram.settings import TelegramSandboxSettings
from sandbox.telegram.storage import people, updates
from sandbox.telegram.storage.database import Database
from sandbox.telegram.wire import JsonObject

DRAFT_SECONDS = 30.0
ACTION_SECONDS = 5.0
_REQUESTS_KEPT = 5_000
_HANDED_KEPT = 500


class Wake(Enum):
    """The reason why a long poll stopped waiting."""

    ARRIVED = "arrived"
    CONFLICT = "terminated by other getUpdates request; make sure that only one bot instance is running"
    WEBHOOK = "terminated by setWebhook request"
    TIMEOUT = "timeout"
    CLOSING = "closing"


class LongPoll:
    """Lets one poller wait for updates. If a second poller comes, the first one stops waiting, as on Telegram."""

    def __init__(self) -> None:
        self._waiter: asyncio.Future[Wake] | None = None

    def wake(self, reason: Wake) -> None:
        """End the wait of the poller for this reason; does nothing if no poller waits."""
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(reason)

    async def wait(self, seconds: float) -> Wake:
        """Wait until `wake` is called, at most `seconds`; return the reason why the wait ended."""
        waiter: asyncio.Future[Wake] = asyncio.get_running_loop().create_future()
        self._waiter = waiter
        done, _ = await asyncio.wait({waiter}, timeout=seconds)
        return waiter.result() if done else Wake.TIMEOUT


@dataclass(frozen=True)
class Draft:
    """An unfinished answer that is shown in a private chat; it disappears after 30 seconds or with the bot's next message."""

    draft_id: int
    text: str
    entities: list[JsonObject]
    can_stop: bool
    expires_at: float
    keep_on_stop: bool = False


@dataclass
class World:
    """The complete state of one running sandbox: database, clock, faults, event streams, and what is shown only for a short time."""

    settings: TelegramSandboxSettings
    clock: SandboxClock
    db: Database
    hub: Hub = field(default_factory=Hub)
    faults: Faults = field(default_factory=Faults)
    poll: LongPoll = field(default_factory=LongPoll)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    webhook_changed: asyncio.Event = field(default_factory=asyncio.Event)
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    drafts: dict[int, Draft] = field(default_factory=dict)
    actions: dict[int, tuple[str, float]] = field(default_factory=dict)
    requests: deque[JsonObject] = field(default_factory=lambda: deque(maxlen=_REQUESTS_KEPT))
    requests_seen: int = 0
    # Drafts that the person stopped: not shown until the bot has sent a message.
    stopped: dict[int, int] = field(default_factory=dict)
    handed: deque[JsonObject] = field(default_factory=lambda: deque(maxlen=_HANDED_KEPT))
    again: deque[JsonObject] = field(default_factory=deque)
    counters: Counters = field(default_factory=Counters)
    rate: RateWatch = field(init=False)

    def __post_init__(self) -> None:
        """Create the rate limits, which depend on the settings."""
        self.rate = RateWatch(self.settings.limits)

    @property
    def files_dir(self) -> Path:
        """Return the folder with the files that people and the bot have sent."""
        return self.settings.data_dir / "files"

    def now(self) -> float:
        """Return the sandbox's time in seconds since 1970."""
        return self.clock().timestamp()

    def queue_update(self, kind: str, payload: JsonObject) -> int | None:
        """Queue an update for the bot and return its id; None if the bot does not want this kind.

        A waiting poller and the webhook are told of the update.
        """
        update_id = updates.add(self.db, kind, payload, self.clock())
        self.announce_update()
        return update_id

    def announce_webhook(self) -> None:
        """Tell the webhook deliveries that the webhook has changed, so that they use the new address at once."""
        self.webhook_changed.set()
        self.webhook_changed = asyncio.Event()
        self.news.set()

    def announce_update(self) -> None:
        """Tell a waiting poller and the webhook that there is a new update."""
        self.poll.wake(Wake.ARRIVED)
        self.news.set()

    def fetch_updates(self, limit: int) -> list[JsonObject]:
        """Return at most `limit` updates for the bot: first those that a test wants repeated, then the unconfirmed ones."""
        again = [self.again.popleft() for _ in range(min(limit, len(self.again)))]
        known = {update["update_id"] for update in again}
        fresh = [update for update in updates.pending(self.db, self.clock(), limit) if update["update_id"] not in known]
        return (again + fresh)[:limit]

    def hand_out(self, given: list[JsonObject]) -> list[JsonObject]:
        """Record that these updates were given to the bot, so that a test can have them repeated; return them."""
        known = {update["update_id"] for update in self.handed}
        self.handed.extend(update for update in given if update["update_id"] not in known)
        return given

    def draft_of(self, chat_id: int) -> Draft | None:
        """Return the draft that is shown in a chat; None if there is none or it has expired."""
        draft = self.drafts.get(chat_id)
        return draft if draft and draft.expires_at > self.now() else None

    def action_of(self, chat_id: int) -> str | None:
        """Return the action of the bot that is shown in a chat, such as "typing"; None if there is none or its time is over."""
        action = self.actions.get(chat_id)
        return action[0] if action and action[1] > self.now() else None

    def start_over(self) -> None:
        """Return to the seeded people and empty chats; pages that are open are told to load anew."""
        self.db.empty()
        people.seed_people(self.db)
        for store in (self.drafts, self.actions, self.stopped, self.handed, self.again):
            store.clear()
        self.faults.clear()
        self.hub.publish("reset", 0)

    def close(self) -> None:
        """End every waiting request, so that the server can stop at once."""
        self.closing.set()
        self.poll.wake(Wake.CLOSING)
        self.hub.close()


def open_world(settings: TelegramSandboxSettings, clock: SandboxClock) -> World:
    """Create the state of a sandbox: open its data folder and database, which are created if needed, and add the predefined people."""
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    db = Database(settings.data_dir / "telegram.db")
    people.seed_people(db)
    return World(settings=settings, clock=clock, db=db)
