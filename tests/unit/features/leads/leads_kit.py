"""A department for the tests about heads of sales: who is whose lead, who is away; and the product with it wired in."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from orchestrator.domain.actor import Absence, Actor
from orchestrator.features.leads.approvers import LeadApprovers
from orchestrator.features.leads.feature import build_staffed_feature
from orchestrator.turns.feature import merge_features
from state.journal.store import OutboxRow
from state.sql.store import SqlStore
from tests.unit.spine_kit import ANNA, BORIS, CHAT, VERA, World, a_world, message, raise_sum, reply
from tests.unit.spine_portal import Portal

GLEB = Actor(key="tg:1005", name="Глеб", role="lead", bitrix_user_id=5, sees="all")
DINA = Actor(key="tg:1001", name="Дина", role="admin", bitrix_user_id=1, sees="all")
LIMIT = {"rules": [{"entity": "deal", "above": 2_000_000, "then": "lead", "why": "Дороже 2 млн подтверждает руководитель"}]}
PAIR = {"rules": [{"entity": "deal", "above": 2_000_000, "then": "two_people", "why": "Дороже 2 млн решают двое"}]}


@dataclass
class Department:
    """The access list, as far as leads are concerned."""

    everybody: list[Actor] = field(default_factory=lambda: [ANNA, BORIS, VERA, DINA])
    leads: dict[str, str] = field(default_factory=lambda: {ANNA.key: VERA.key})
    absent: dict[str, Absence] = field(default_factory=dict)

    def list_people(self) -> Sequence[Actor]:
        return self.everybody

    def find_lead(self, key: str) -> str:
        return self.leads.get(key, "")

    def find_absence(self, key: str) -> Absence | None:
        return self.absent.get(key)

    def present(self, actor: Actor) -> Actor | None:
        """The rights of this moment, as the access list tells them; none for who is not in it."""
        return next((person for person in self.everybody if person.key == actor.key), None)


def gone(until: date, deputy: Actor | None = None) -> Absence:
    return Absence(until=until, deputy=deputy.key if deputy else "")


@asynccontextmanager
async def a_department(
    folder: Path,
    *,
    policy: Mapping[str, Any] | None = None,
    department: Department | None = None,
    store: SqlStore | None = None,
    portal: Portal | None = None,
) -> AsyncIterator[World]:
    """The product with leads, under a policy that sends deals above two millions to them."""
    staff = department or Department()
    async with a_world(folder, policy=LIMIT if policy is None else policy, store=store, portal=portal) as world:
        gate = world.gate
        gate._deps = replace(gate._deps, approvers=LeadApprovers(staff, world.clock.now))
        world.orchestrator.tools = replace(
            world.tools,
            features=merge_features(world.tools.features, replace(build_staffed_feature(world.store, staff), periodic_tasks=())),
            refresh_actor=staff.present,
        )
        yield world


async def ask_for(world: World, amount: int = 2_500_000, *, actor: Actor = ANNA) -> dict[str, Any]:
    """The card of a request above the limit, its messages taken off the outbox."""
    world.model.will(reply(raise_sum(amount), text="Готовлю."))
    await world.work(message("подними сумму", actor=actor, key=CHAT))
    shown = world.outbox()
    return dict(next(row.body for row in shown if row.kind == "card" and row.session == CHAT))


def by_chat(rows: Sequence[OutboxRow]) -> dict[str, list[str]]:
    """What each chat is told, cards as "card:<status>", toasts as "toast:<code>"."""
    found: dict[str, list[str]] = {}
    for row in rows:
        words = {"card": lambda body: [f"card:{body['status']}"], "toast": lambda body: [f"toast:{body['notice']['code']}"]}.get(
            row.kind, lambda body: [notice["code"] for notice in body["notices"]] or ["reply"]
        )
        found.setdefault(row.session.removesuffix(":toast"), []).extend(words(row.body))
    return found
