"""The gate over the sandbox portal: the product in this process, its calls on the wire, the portal's records to look at."""

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import httpx

from orchestrator.domain.effect import Outcome, Pending, Provenance
from orchestrator.gate.approve.confirmations import Decision
from orchestrator.gate.approve.run_approved import DecisionResult
from orchestrator.sessions.session import Session
from sandbox.portal.app import create_app
from sandbox.portal.portal import Settings
from state.model.card import Card
from tests.unit.spine_kit import NOW, VERA, World, a_world, effect
from tests.unit.spine_portal import CODE, Portal


@dataclass
class Wire:
    """Carries requests to the sandbox; keeps what was sent, and may answer some methods itself."""

    transport: httpx.ASGITransport
    sent: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    instead: dict[str, httpx.Response] = field(default_factory=dict)

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        method = request.url.path.rpartition("/")[2]
        self.sent.append((method, json.loads(request.content)))
        if method in self.instead:
            return self.instead[method]
        path = request.url.path.replace(CODE, "sandbox")
        asked = httpx.Request("POST", request.url.copy_with(path=path), content=request.content, headers=request.headers)
        answer = await self.transport.handle_async_request(asked)
        return httpx.Response(answer.status_code, content=await answer.aread(), headers={"Content-Type": "application/json"})

    def writes(self) -> list[tuple[str, dict[str, Any]]]:
        """What could have changed something."""
        reads = (".get", ".list", ".fields", ".getFields", ".current", "profile", "time")
        return [line for line in self.sent if not line[0].endswith(reads)]


@dataclass
class Desk:
    """A session of somebody who sees all, and the two ways a wish goes."""

    world: World
    session: Session
    wire: Wire
    count: int = 0

    async def wish(self, method: str, params: dict[str, Any], **more: Any) -> Outcome | Pending:
        """One effect through the gate; each is a step of its own."""
        self.count += 1
        named = frozenset(f"{kind}:{number}" for kind in ("deal", "contact", "lead", "company", "task") for number in range(500))
        given = effect(method, params, slot=f"t1/1/{self.count}", provenance=Provenance(message=None, targets=named, person_text="сделай"))
        return await self.world.submit(self.session, given, actor=VERA, **more)

    async def refused(self, method: str, params: dict[str, Any], **more: Any) -> Outcome:
        """The refusal of a wish; nothing was sent."""
        before = len(self.wire.writes())
        found = await self.wish(method, params, **more)
        assert found.status == "refused", found
        assert len(self.wire.writes()) == before
        return found

    def card(self, pending: Outcome | Pending) -> Card:
        """The card of a wish that waits."""
        return self.session.state.cards[pending.confirmation_id]

    async def approve(self, pending: Outcome | Pending) -> Outcome:
        """What comes of a yes."""
        decided = await self.decide(self.card(pending))
        assert decided.outcome is not None, decided
        return decided.outcome

    async def decide(self, entry: Card) -> DecisionResult:
        """A yes, and what it leads to: also another card."""
        given = Decision(confirmation_id=entry.confirmation_id, nonce=entry.nonce, approve=True, actor=VERA, via="button")
        return await self.world.gate.decide_card(given, mode="full", ledger=self.session)

    async def done(self, method: str, params: dict[str, Any]) -> Outcome:
        """What comes of a wish, approved where it asks."""
        found = await self.wish(method, params)
        return found if isinstance(found, Outcome) else await self.approve(found)

    async def ask(self, method: str, **params: Any) -> Any:
        """A look at the portal, past the gate."""
        return (await self.world.client.call(method, params, repeatable=True)).result

    async def phones(self, number: int = 43) -> list[str]:
        """The phones of a contact."""
        return [item["VALUE"] for item in (await self.ask("crm.contact.get", id=number)).get("PHONE") or []]


def clock() -> datetime:
    """The sandbox lives at the same moment as the product."""
    return NOW


@contextlib.asynccontextmanager
async def a_desk(folder: Path, **more: Any) -> AsyncIterator[Desk]:
    """The product over a fresh sandbox; `more` goes to `a_world`."""
    app = create_app(Settings(bucket=None, clock=clock))
    wire = Wire(httpx.ASGITransport(app))
    async with a_world(folder, portal=cast("Portal", wire), **more) as world:
        yield Desk(world, await world.session(), wire)
    await app.state.portal.events.aclose()
    app.state.portal.close()
