"""Plays a case through the real session over a fresh sandbox portal; the person approves exactly the right calls and denies the others.

The model says what the case orders. The engine, the gate, the journal and the portal are real.
"""

import tempfile
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import httpx

from engines.crm_agent.core.prompt import AFTER_CARDS
from orchestrator.domain.actor import Actor
from orchestrator.domain.models import ModelAnswer
from orchestrator.gate.approve.confirmations import calculate_second_nonce
from sandbox.portal.app import create_app
from sandbox.portal.php import parse_query
from sandbox.portal.portal import Settings
from state.journal.store import InboxRow, OutboxRow
from tests.arena.cases import Call, Case
from tests.arena.judge import Judge, build_key
from tests.unit.gate.sandbox_kit import Wire, clock
from tests.unit.runtime.ordinary_kit import PEOPLE
from tests.unit.spine_kit import Said, World, a_world, message, press, reply
from tests.unit.spine_portal import Portal

MOST_CARDS: Final = 40
"""As many rounds of cards a case may have before it is given up."""
_DECISIONS: Final = ("ConfirmationApproved", "ConfirmationDenied", "ConfirmationExpired", "ConfirmationSuperseded")
CLOSED: Final = frozenset({"gate-delete", "gate-batch-delete", "gate-closed"})
"""The codes of refusals of what the policy closes to everybody."""
_HOLDS: Final = "gate-already-so"


@dataclass(frozen=True)
class Stage:
    """Where cases are played: who the people are, what references mean, the rules and settings, and what the portal is seeded with."""

    means: Mapping[str, Any]
    policy: Mapping[str, Any] = field(default_factory=lambda: {"sum_jump": 10})
    settings: Mapping[str, Any] = field(default_factory=dict)
    portal: Settings = field(default_factory=lambda: Settings(bucket=None, clock=clock))
    people: Mapping[str, Actor] = field(default_factory=lambda: PEOPLE)
    card: bool = True


@dataclass
class Played:
    """What came of a case."""

    case: Case
    cards: int = 0
    wrong_cards: int = 0
    """Cards with a call that is not right."""
    again: int = 0
    """Cards with a call that was denied before in the same turn."""
    unwanted: list[Call] = field(default_factory=list)
    """Calls that reached the portal and are not right: the person approves none, so they ran without a person."""
    done: int = 0
    free: int = 0
    """Right writes that ran without a card."""
    closed: int = 0
    """Right writes that the policy refuses to everybody."""
    undone: list[Call] = field(default_factory=list)
    """Right writes that did not take place, without the closed ones."""
    refusals: list[str] = field(default_factory=list)


class CaseModel:
    """Gives the answers of a case in order; one that insists gives the last again after each decided card."""

    def __init__(self, case: Case) -> None:
        self._left = deque(case.answers)
        self._repeated = case.answers[-1] if case.insists else None
        self._told = case.told

    async def stream_chat(self, payload: dict[str, Any], on_delta: Callable[[str], Awaitable[None]] | None = None) -> ModelAnswer:
        """Answer a prompt."""
        is_decided = str(payload["messages"][-1]["content"]).endswith(AFTER_CARDS)
        if self._left:
            steps = self._left.popleft()
            text = reply(*steps, text="Сделаю." if steps else self._told)
        elif is_decided and self._repeated is not None:
            text = reply(*self._repeated, text="Сделаю.")
        else:
            text = reply(text="" if is_decided else "Готово.")
        if on_delta is not None:
            await on_delta(text)
        return Said(text)


class Person:
    """Presses the cards of a case: approves the right calls, leaves wrong steps out of a plan, denies what is wrong altogether."""

    def __init__(self, world: World, actor: Actor, judge: Judge, played: Played) -> None:
        self._world, self._actor, self._judge, self._played = world, actor, judge, played
        self._seen: set[str] = set()
        self._told: set[str] = set()
        self._denied: set[Any] = set()
        self.approved: list[Call] = []

    def decide(self) -> list[InboxRow]:
        """Return the presses on the cards that wait now."""
        rows = {str(row.body["confirmation_id"]): row for row in self._world.outbox() if row.kind == "card"}
        return [one for row in rows.values() if row.body["status"] == "requested" for one in self._press(row)]

    def _press(self, row: OutboxRow) -> Iterator[InboxRow]:
        steps = self._list_waiting(str(row.body["confirmation_id"]))
        calls = {str(one["confirmation_id"]): list(list_single_calls(Call(one["method"], one["params"]))) for one in steps}
        wrong = [one for one in steps if not self._judge.are_all_right(calls[str(one["confirmation_id"])])]
        if not wrong and not self._judge.are_all_right([call for several in calls.values() for call in several]):
            wrong = steps[1:]  # the same right call twice: one of them is enough
        self._count(str(row.body["confirmation_id"]), calls, is_wrong=bool(wrong))
        for one in wrong:
            self._denied |= set(map(build_key, calls[str(one["confirmation_id"])]))
        if len(wrong) == len(steps):
            yield press(row.body, actor=self._actor, approve=False)
        elif wrong:  # «Убрать N»; the rest comes as a card again
            yield from (press(one, actor=self._actor, approve=False) for one in wrong)
        else:
            self.approved += [call for several in calls.values() for call in several]
            nonce = str(row.body["nonce"])
            yield press(row.body, actor=self._actor, nonce=calculate_second_nonce(nonce) if row.body["stage"] > 1 else nonce)

    def _count(self, shown: str, calls: Mapping[str, Sequence[Call]], *, is_wrong: bool) -> None:
        new = calls.keys() - self._told
        self._told |= new
        if shown not in self._seen:
            self._seen.add(shown)
            self._played.cards += 1
            self._played.wrong_cards += is_wrong
        self._played.again += any(build_key(call) in self._denied for one in new for call in calls[one])

    def _list_waiting(self, shown: str) -> list[Mapping[str, Any]]:
        """Return what the steps of a shown card ask for: all of its plan that wait."""
        asked = {str(one.data["confirmation_id"]): one.data for one in self._world.events("ConfirmationRequested")}
        decided = {str(one.data["confirmation_id"]) for one in self._world.events(*_DECISIONS)}
        plan = str(asked[shown]["slot"]).rpartition("/")[0]
        return [one for key, one in asked.items() if key not in decided and str(one["slot"]).rpartition("/")[0] == plan]


async def play(case: Case, stage: Stage) -> Played:
    """Play a case to its end and judge it."""
    app = create_app(stage.portal)
    wire = Wire(httpx.ASGITransport(app))
    actor = stage.people[case.person]
    played, judge = (
        Played(case),
        Judge([one for call in case.gold for one in list_single_calls(call)], stage.means, actor.bitrix_user_id or 0),
    )
    with tempfile.TemporaryDirectory() as folder:
        async with a_world(
            Path(folder),
            portal=cast("Portal", wire),
            policy=stage.policy,
            settings=stage.settings,
            card=stage.card,
            people=[*{one.key: one for one in stage.people.values()}.values()],
        ) as world:
            for call in case.given:
                await world.client.call(call.method, dict(call.params), repeatable=False)
            ledger = app.state.portal.ledger
            start = ledger.lines[-1]["seq"] if ledger.lines else 0
            person = Person(world, actor, judge, played)
            world.model.stream_chat = CaseModel(case).stream_chat  # type: ignore[method-assign]
            if case.before:
                await world.work(message(case.before, actor=actor))
            await world.work(message(case.say, actor=actor, **({"quoted": case.quoted} if case.quoted else {})))
            for _ in range(MOST_CARDS):
                presses = person.decide()
                if not presses:
                    break
                await world.work(*presses)
            catalogue = world.gate.deps.catalogue
            lines = [line for line in ledger.calls(after=start) if _name(line) != "batch" and not _reads(catalogue.find(_name(line)))]
            _judge(played, judge, lines, person.approved)
            _explain_rest(played, judge, world)
    await app.state.portal.events.aclose()
    app.state.portal.close()
    return played


def _reads(method: Any) -> bool:
    return method is not None and method.reads_only


def _judge(played: Played, judge: Judge, lines: Sequence[Mapping[str, Any]], approved: Sequence[Call]) -> None:
    """Count the writes that reached the portal."""
    waiting = [build_key(call) for call in approved]
    for line in lines:
        call = Call(_name(line), line["params"])
        if not judge.use(call):
            played.unwanted.append(call)
        elif line["outcome"] == "ok":
            played.done += 1
            if (key := build_key(call)) in waiting:
                waiting.remove(key)
            else:
                played.free += 1
        else:
            played.undone.append(call)


def _explain_rest(played: Played, judge: Judge, world: World) -> None:
    """Tell the right calls that did not take place from those that the policy closes, and from those whose values hold already."""
    for event in world.events("StepRefused"):
        code = str(event.data["code"])
        played.refusals.append(f"{event.data['method']}: {code}")
        if code in {*CLOSED, _HOLDS}:
            calls = list_single_calls(Call(str(event.data["method"]), event.data["params"]))
            played.closed += sum(map(judge.use, calls)) * (code in CLOSED)
    played.undone += judge.left


def list_single_calls(call: Call) -> Iterator[Call]:
    """Yield the call, or the commands of a batch."""
    if call.method != "batch":
        yield call
        return
    commands = call.params["cmd"]
    for command in commands.values() if isinstance(commands, Mapping) else commands:
        method, _, query = str(command).partition("?")
        yield Call(method, parse_query(query))


def _name(line: Mapping[str, Any]) -> str:
    """Return the method of a line of the ledger, also one that the sandbox does not know."""
    return str(line["name"] or line["method"])
