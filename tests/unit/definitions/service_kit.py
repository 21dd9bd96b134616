"""The service of definitions over a real store, with the kinds of the example engines."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from bitrix.catalogue.catalogue import load_catalogue
from bot.composition.installation import DATA
from bot.definition_service import build_definition_service
from orchestrator.definitions.checking import Submission
from orchestrator.definitions.rules import Editor
from orchestrator.definitions.service import DefinitionService
from orchestrator.documents.document import DocumentFormat
from orchestrator.documents.reading import read_document
from orchestrator.domain.actor import Actor, Role
from orchestrator.features.leads.live_policy import FixedPolicy
from orchestrator.gate.call.policy import Policy
from orchestrator.runs.registry import Engines
from state.canonical import dumps
from state.journal.async_store import AsyncStore
from state.journal.store import StoredEvent
from state.sql.store import SqlStore
from tests.fixed_clock import FixedClock
from tests.unit.runs.runs_kit import build_engines, steps
from tests.unit.spine_kit import NOW, memory_store


def person(key: str, role: Role = "lead", user: int | None = None, *, name: str = "", customers: bool = False) -> Editor:
    """Somebody at the door of HTTP; an employee if there is a `user`."""
    actor = Actor(key=key, name=name or key.partition(":")[2], role=role, bitrix_user_id=user, sees="all")
    return Editor(actor=actor, via="http", writes_for_customers=customers)


VERA = person("tg:1006", "lead", 6, name="Вера")
OLEG = person("http:oleg", "admin", 5, name="Олег")
ANNA = person("tg:1007", "manager", 7, name="Анна")
SITE = person("http:site", "lead")
CLI = Editor(actor=Actor(key="cli:root", name="root", role="admin", sees="all"), via="cli")

HELLO = steps({"say": "Здравствуйте"})
BYE = steps({"say": "До свидания"})
DELETES = steps({"write": "crm.deal.delete", "params": {"id": 481}})


def data(document: Any, **more: Any) -> Submission:
    """A document as JSON data."""
    return text(dumps(document), "json", **more)


def text(source: str | bytes, form: DocumentFormat = "yaml", **more: Any) -> Submission:
    """A document as the text of a file."""
    return Submission(read=partial(read_document, source, form), **more)


@cache
def shipped_catalogue() -> Any:
    return load_catalogue(DATA / "catalogue")


@dataclass
class Desk:
    """The service, and what is behind it."""

    service: DefinitionService
    store: AsyncStore
    sql: SqlStore
    clock: FixedClock
    policy: Policy = field(default_factory=Policy)

    async def publish(self, key: str, document: Any, *, by: Editor = OLEG, kind: str = "steps") -> int:
        """Write a definition and publish it; return its version."""
        version = (await self.service.create(VERA, kind, key, data(document))).version
        return (await self.service.publish(by, kind, key, version.version, expected=version.revision)).version.version

    async def switch(self, key: str, *, enabled: bool, by: Editor = OLEG) -> None:
        head = await self.service.find_key(by, "steps", key)
        await self.service.switch(by, "steps", key, enabled=enabled, expected=head.revision)

    def events(self) -> Sequence[StoredEvent]:
        return self.sql.read_events("session:definitions")


def build_desk(store: AsyncStore, sql: SqlStore, policy: Mapping[str, Any] | None = None, engines: Engines | None = None) -> Desk:
    """The service over this store, for the kinds of the example engines or of those."""
    rules, clock = Policy.model_validate(policy or {}), FixedClock(NOW)
    made = build_definition_service(
        store,
        engines or build_engines({}),
        policies=FixedPolicy(rules),
        catalogue=shipped_catalogue,
        clock=clock,
    )
    return Desk(made, store, sql, clock, rules)


@asynccontextmanager
async def a_desk(policy: Mapping[str, Any] | None = None) -> AsyncIterator[Desk]:
    """The service over a database in memory."""
    sql = memory_store()
    store = AsyncStore(sql)
    try:
        yield build_desk(store, sql, policy)
    finally:
        await store.aclose()
