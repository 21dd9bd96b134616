"""Keeps the policy up to date with its files; after a fault the last valid one stays in force."""

import logging
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.domain.actor import Staff
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.inputs import PolicyNews
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.gate.call.gate_deps import PolicySource
from orchestrator.gate.call.policy import SHIPPED, Policy, check_policy, load_with_places
from orchestrator.gate.call.policy_format import read_policy_file
from orchestrator.sessions import outbox
from orchestrator.sessions.input_filter import build_system_row
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from state.canonical import hash_text
from state.clock import SystemClock
from state.journal.store import InboxRow

log = logging.getLogger(__name__)

LOOK_EVERY = 1.0
SETTLED = 1.0
"""Seconds: a half-written file may contain fewer rules."""


class FixedPolicy:
    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def now(self) -> Policy:
        return self._policy


@dataclass(frozen=True, kw_only=True)
class PolicyChange:
    """`faults` are why the old rules stay. `restart`: added methods take effect at the next start."""

    digest: str
    content: str
    """Checksum; the same content is reported once."""
    faults: tuple[str, ...] = ()
    restart: bool = False


class LivePolicy:
    def __init__(  # noqa: PLR0913 - its files, what names in them may mean, and two clocks that tests replace
        self,
        path: Path | None,
        catalogue: Catalogue,
        *,
        policy: Policy | None = None,
        tell: Callable[[PolicyChange], None],
        kinds: Callable[[Policy], Collection[str]] = lambda _: (),
        shipped: Path = SHIPPED,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = lambda: SystemClock().now().timestamp(),
    ) -> None:
        """Raises SettingsError for faulty files without `policy`."""
        self._files = (shipped, path) if path else (shipped,)
        self._path, self._shipped, self._catalogue = path, shipped, catalogue
        self._tell, self._kinds = tell, kinds
        self._clock, self._wall = clock, wall
        self._looked = clock()
        self._content = self._hash_content()
        self._policy = policy or self._load()

    def now(self) -> Policy:
        if self._clock() - self._looked >= LOOK_EVERY:
            self._looked = self._clock()
            self._reload_if_changed()
        return self._policy

    def _reload_if_changed(self) -> None:
        content = self._hash_content()
        if content == self._content or any(0 <= self._wall() - _find_written_at(path) < SETTLED for path in self._files):
            return
        self._content = content
        self._tell(self._apply_change(content))

    def _apply_change(self, content: str) -> PolicyChange:
        try:
            self._check_not_empty()
            policy = self._load()
        except SettingsError as error:
            log.warning("the policy has become faulty, the old one stays: %s", error.reason, extra={"action": "policy_faulty"})
            return PolicyChange(digest=self._policy.digest, content=content, faults=tuple(error.reason.splitlines()))
        restart = policy.catalogue != self._policy.catalogue
        self._policy = policy.model_copy(update={"catalogue": self._policy.catalogue}) if restart else policy
        log.info("the policy is now %s", self._policy.digest, extra={"action": "policy_changed", "policy": self._policy.digest})
        return PolicyChange(digest=self._policy.digest, content=content, restart=restart)

    def _check_not_empty(self) -> None:
        """A full disk can empty the file. Raises SettingsError."""
        if self._path is not None and not read_policy_file(self._path)[0]:
            raise SettingsError(f"POLICY_FILE {self._path.name}: says nothing any more; write `rules: []` if nothing is wanted")

    def _load(self) -> Policy:
        loaded = load_with_places(self._path, shipped=self._shipped)
        if faults := check_policy(loaded.policy, self._catalogue, loaded.places, kinds=self._kinds(loaded.policy)):
            raise SettingsError("\n".join(faults))
        return loaded.policy

    def _hash_content(self) -> str:
        return hash_text("\0".join(_read_text(path) for path in self._files))


def _find_written_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return "\0gone"


KIND: Final = PolicyNews.KIND
SESSION: Final = "policy"
MAX_SHOWN: Final = 5
"""`sdelka policy check` lists all faults."""


class PolicyWatcher:
    """Queues changes of the policy until they are submitted as inputs."""

    def __init__(self) -> None:
        self._news: list[PolicyChange] = []

    def add_news(self, news: PolicyChange) -> None:
        self._news.append(news)

    async def run(self, policies: PolicySource, receive: Callable[[Sequence[InboxRow]], Awaitable[object]], now: datetime) -> None:
        """Raises StoreError; changes not stored stay queued."""
        policies.now()
        await self.deliver_news(receive, now)

    async def deliver_news(self, receive: Callable[[Sequence[InboxRow]], Awaitable[object]], now: datetime) -> None:
        """Raises StoreError; changes not stored stay queued."""
        while self._news:
            news = self._news[0]
            policy_news = PolicyNews(digest=news.digest, faults=news.faults, restart=news.restart)
            source = f"policy:{news.content}:{int(now.timestamp()) // 60}"
            await receive([build_system_row(KIND, SESSION, source, now, body=policy_news.to_json())])
            del self._news[0]


async def tell_administrators(row: InboxRow, session: Session, _tools: Tools, *, staff: Staff) -> None:
    news = PolicyNews.model_validate(row.body)
    notice = Notice(code="policy-restart" if news.restart else "policy-taken", args={"digest": news.digest})
    if news.faults:
        notice = Notice(code="policy-faulty", args={"count": len(news.faults), "faults": "\n".join(news.faults[:MAX_SHOWN])})
    rows = [
        outbox.build_reply_row(person.key, build_reply(notice), session.now) for person in staff.list_people() if person.role == "admin"
    ]
    await session.commit(actor="system", outbox=rows, inbox_done=[row.id])
