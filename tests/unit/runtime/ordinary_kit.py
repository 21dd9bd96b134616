"""Plays one request of the corpus through the real turn, over a fresh sandbox portal, and counts what it cost the person.

The model is scripted with the plan that the corpus holds for it; every card is approved. Everything between is the product's own code.
"""

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import httpx
import yaml

from orchestrator.domain.actor import Actor
from orchestrator.gate.approve.confirmations import calculate_second_nonce
from sandbox.portal.app import create_app
from sandbox.portal.portal import Settings
from state.journal.store import InboxRow, OutboxRow
from tests.unit.gate.sandbox_kit import Wire, clock
from tests.unit.spine_kit import World, a_world, message, press, reply, step
from tests.unit.spine_portal import Portal

CORPUS = Path(__file__).resolve().parents[2] / "corpus"
MANAGER = Actor(key="tg:1007", name="Борис", bitrix_user_id=7)
LEAD = Actor(key="tg:1006", name="Анна", role="lead", bitrix_user_id=6, sees="all")
PEOPLE = {"manager": MANAGER, "lead": LEAD, "english": MANAGER.model_copy(update={"locale": "en"})}
REFUSALS = ("StepRefused", "CallRefused", "CallOutcomeUnknown", "DecisionRefused", "ConfirmationSuperseded", "ModelFailed")
ROUNDS = 5
"""As many cards a request may lead to before the player gives up."""


@dataclass(frozen=True)
class Request:
    """One entry of the corpus; `answers` holds the steps of each answer of the model, in order, `choose` the button of its one question."""

    say: str
    person: Actor
    answers: Sequence[Sequence[dict[str, Any]]]
    wants: Sequence[dict[str, Any]]
    given: Sequence[dict[str, Any]] = ()
    choose: str = ""

    @property
    def planned(self) -> list[str]:
        """The writes of the plan, by method: those of its last answer."""
        return [str(item["method"]) for item in self.answers[-1]]


@dataclass
class Played:
    """What a request led to."""

    say: str
    cards: int = 0
    refused: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)


def load_requests(name: str) -> list[Request]:
    """The requests of a file of the corpus."""
    entries = yaml.safe_load((CORPUS / name).read_text(encoding="utf-8"))
    return [
        Request(
            say=entry["say"],
            person=PEOPLE[entry.get("by", "manager")],
            answers=[*([entry["first"]] if "first" in entry else []), entry["plan"]],
            wants=entry["wants"],
            given=entry.get("given", ()),
            choose=entry.get("choose", ""),
        )
        for entry in entries
    ]


async def play(request: Request, folder: Path) -> Played:
    """Work a request to its end, approving every card, and look at the records it was about."""
    async with _a_portal(folder) as (world, wire):
        played = Played(say=request.say)
        for call in request.given:
            await world.client.call(call["method"], call["params"], repeatable=False)
        wire.sent.clear()
        answers = [reply(*(step(item["method"], item.get("params")) for item in answer), text="Сделаю.") for answer in request.answers]
        world.model.will(*answers, reply(text="Сделал."))
        await world.work(message(request.say, actor=request.person))
        await _press_all(world, request, played)
        world.model.script.clear()  # a turn that ends with a card or a question does not ask the model again
        played.refused = [f"{item.type}: {dict(item.data)}" for item in world.events(*REFUSALS)]
        played.writes = _list_writes(world, wire)
        played.missing = [line for want in request.wants if (line := await _check(want, world, wire))]
        return played


async def _check(want: dict[str, Any], world: World, wire: Wire) -> str:
    """What the portal holds, or what was sent to it, in place of what the corpus wants; "" if it is that."""
    if "sent" in want:
        found: Any = [params for method, params in wire.sent if method == want["sent"]]
    else:
        found = _unwrap((await world.client.call(want["read"], want.get("params") or {}, repeatable=True)).result)
    return "" if _holds(found, want["holds"]) else f"{want['holds']} wanted, not {found}"


@contextlib.asynccontextmanager
async def _a_portal(folder: Path) -> AsyncIterator[tuple[World, Wire]]:
    """The product with the shipped rules, also the second tap for sums that jump, over a fresh sandbox."""
    app = create_app(Settings(bucket=None, clock=clock))
    wire = Wire(httpx.ASGITransport(app))
    async with a_world(folder, portal=cast("Portal", wire), policy={"sum_jump": 10}) as world:
        yield world, wire
    await app.state.portal.events.aclose()
    app.state.portal.close()


async def _press_all(world: World, request: Request, played: Played) -> None:
    """Approve every card that waits, as often as it asks, and answer the questions whose answer the corpus names."""
    seen: set[str] = set()
    for _ in range(ROUNDS):
        rows = world.outbox()
        inputs = [chosen for row in rows if row.body.get("choices") for chosen in _choose(row, request, played)]
        played.told += [str(notice["code"]) for row in rows if row.kind == "reply" for notice in row.body["notices"]]
        waiting = [row for row in rows if _is_waiting(row)]
        seen |= {str(row.body["confirmation_id"]) for row in waiting}
        played.cards = len(seen)
        inputs += [_approve(row, request.person) for row in waiting]
        if not inputs:
            return
        await world.work(*inputs)


def _approve(row: OutboxRow, person: Actor) -> InboxRow:
    """The press that a card waits for: its first, or the second of one that asks twice."""
    nonce = str(row.body["nonce"])
    return press(row.body, actor=person, nonce=calculate_second_nonce(nonce) if row.body["stage"] > 1 else nonce)


def _choose(row: OutboxRow, request: Request, played: Played) -> list[InboxRow]:
    """The press on the button that the corpus names; a question that it does not name is noted."""
    labels = [str(choice["label"]) for choice in row.body["choices"]]
    fitting = [number for number, label in enumerate(labels) if request.choose and request.choose in label]
    if len(fitting) != 1:
        played.asked.append(f"{row.body['notices']}: {labels}")
        return []
    question, _, option = str(row.body["choices"][fitting[0]]["token"]).partition(":")
    return [message("", actor=request.person, answers=question, option=int(option), origin="choice")]


def _is_waiting(row: OutboxRow) -> bool:
    return row.kind == "card" and row.body["status"] == "requested"


def _list_writes(world: World, wire: Wire) -> list[str]:
    """The calls that could have changed something, by method."""
    catalogue = world.gate.deps.catalogue

    def may_change(method: str, params: dict[str, Any]) -> bool:
        if method == "batch":
            cmd = params["cmd"]
            lines = cmd.values() if isinstance(cmd, dict) else cmd
            return any(may_change(str(line).partition("?")[0], {}) for line in lines)
        known = catalogue.find(method)
        return known is None or not known.reads_only

    return [method for method, params in wire.sent if may_change(method, params)]


def _unwrap(answer: Any) -> Any:
    """A record or the rows without the box that some methods put them in."""
    boxes = ("task", "item", "items", "tasks", "productRow", "productRows")
    return next((answer[name] for name in boxes if isinstance(answer, dict) and set(answer) == {name}), answer)


def _holds(found: Any, wanted: Any) -> bool:
    """Whether a record has the wanted values; of the rows of a list exactly one must have them, so that a doubled one is seen."""
    if isinstance(wanted, dict) and isinstance(found, list):
        return sum(_holds(row, wanted) for row in found) == 1
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(_holds(found.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(_holds, found, wanted))
    if isinstance(wanted, (int, float)) and not isinstance(wanted, bool):
        return _is_number(found) and float(found) == wanted
    return str(found) == str(wanted)


def _is_number(found: Any) -> bool:
    return str(found).replace(".", "", 1).isdecimal()
