"""What the console asks of the policy. Decides nothing."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from bitrix.auth.auth import Webhook
from bot.definition_service import list_known_kinds
from bot.policy.policy_file import LONGEST, PolicyText, read_policy_text, replace_policy_text
from bot.settings.settings import Settings
from orchestrator.domain.actor import Actor
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.inputs import POLICY_FILE, PolicyFileSaved
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.policy import Policy
from orchestrator.reports.policy_check import CheckedPolicy, PolicyPart, build_mistake, check_policy_text, describe_policy
from orchestrator.reports.policy_explain import Ability, list_abilities
from orchestrator.reports.rehearsal.comparison import Comparison, compare_rules
from orchestrator.reports.rehearsal.rehearse import Rules
from orchestrator.runs.registry import Engines
from state.clock import Clock, format_iso, generate_id
from state.events.console import PolicySaved
from state.journal.async_store import AsyncStore
from state.journal.journal import to_stream
from state.journal.store import InboxRow, StoreError

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class PolicySaver:
    key: str
    name: str
    at: str
    digest: str


@dataclass(frozen=True, kw_only=True)
class PolicyDesk:
    """What takes a while runs in threads."""

    settings: Settings
    deps: GateDeps
    engines: Engines
    store: AsyncStore
    clock: Clock
    receive: Callable[[Sequence[InboxRow]], Awaitable[object]]

    @property
    def digest(self) -> str:
        return self.deps.policy.digest

    def describe(self) -> tuple[PolicyPart, ...]:
        return describe_policy(self.deps.policy)

    def list_abilities(self, actor: Actor) -> tuple[Ability, ...]:
        return list_abilities(actor, self._build_rules(self.deps.policy))

    async def read(self) -> PolicyText:
        return await asyncio.to_thread(read_policy_text, self.settings.policy_file)

    async def check(self, text: str) -> CheckedPolicy:
        """Return whether the running bot would take it."""
        if len(text) > LONGEST:
            return CheckedPolicy(mistakes=(build_mistake("finding-policy-long", most=LONGEST),))
        name = self.settings.policy_file.name if self.settings.policy_file is not None else "policy.yaml"
        deps = self.deps
        kinds = partial(list_known_kinds, self.settings, self.engines)
        return await asyncio.to_thread(check_policy_text, text, name, catalogue=deps.catalogue, in_force=deps.policy, kinds=kinds)

    async def rehearse(self, checked: CheckedPolicy, *, days: int, show: Callable[[Comparison], None]) -> Comparison:
        """Raises StoreError, UnknownEvent, and ValueError for a text with mistakes."""
        if checked.loaded is None:
            raise ValueError("a text with mistakes is no policy")
        old, new = self._build_rules(self.deps.policy), self._build_rules(checked.loaded.policy)
        since = format_iso(self.clock.now() - timedelta(days=days))
        return await compare_rules(self.store, old, new, since=since, show=show)

    async def save(self, text: str, *, shown_digest: str, by: Actor) -> PolicyText:
        """The bot takes it within seconds.

        Raises PolicyFileChanged, OSError, and ValueError for mistakes or without a file.
        """
        path = self.settings.policy_file
        if path is None or (await self.check(text)).loaded is None:
            raise ValueError("a text with mistakes is not saved")
        saved = await asyncio.to_thread(replace_policy_text, path, text, shown_digest=shown_digest)
        log.info("the policy was saved by %s", by.key, extra={"action": "policy_saved", "actor": by.key, "via": "console"})
        try:
            await self.receive([self._build_news(saved, by)])
        except StoreError:  # the file is saved, and the log says by whom
            log.exception("it could not be stored who saved the policy", extra={"action": "policy_saved"})
        return saved

    async def find_saver(self) -> PolicySaver | None:
        """None for nobody. Raises StoreError."""
        stream = to_stream(POLICY_FILE)
        seq, _ = await self.store.read_head(stream)
        events = await self.store.read_events(stream, after=seq - 1, limit=1) if seq else []
        if not events or events[0].type != PolicySaved.__name__:
            return None
        policy_saved = PolicySaved.from_data(events[0].data)
        return PolicySaver(key=policy_saved.person, name=policy_saved.name, at=events[0].ts, digest=policy_saved.digest)

    def _build_news(self, saved: PolicyText, by: Actor) -> InboxRow:
        row_id = generate_id()
        return PolicyFileSaved(digest=saved.digest).to_row(
            POLICY_FILE, source=f"policy:saved:{row_id}", actor=by.model_dump(mode="json"), now=self.clock.now(), row_id=row_id
        )

    def _build_rules(self, policy: Policy) -> Rules:
        return Rules(
            catalogue=self.deps.catalogue,
            policy=policy,
            mode=self.settings.agent_mode,
            person=self._find_person,
            portal=find_portal(self.settings),
            by_webhook=self.settings.bitrix_oauth_client_id is None,
        )

    def _find_person(self, key: str) -> Actor | None:
        """With present rights; None without access today."""
        if key.startswith("cli:"):
            return Actor(key=key, name=key.removeprefix("cli:"), role="admin", sees="all")
        return self.deps.present(Actor(key=key, name=""))


def find_portal(settings: Settings) -> str:
    """ "" if they do not give it. Raises SettingsError."""
    if settings.bitrix_oauth_client_id is not None or settings.bitrix_webhook_url is None:
        return settings.bitrix_portal or ""
    try:
        return Webhook(settings.bitrix_webhook_url).portal
    except ValueError as error:
        raise SettingsError(f"BITRIX_WEBHOOK_URL: {error}") from None
