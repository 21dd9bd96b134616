"""A context that answers from scripts, and short ways to run the agent in it."""

import json
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from engines.crm_agent.core.engine import CrmAgent
from orchestrator.directory.answers import DatedParams, OutcomeView, Resolved
from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.effect import Effect, NewRecord, Outcome, Pending, Provenance
from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.outputs import Row, Table
from orchestrator.engines.base import ModelText, TurnContext, TurnEnd, TurnInput, TurnModelRequest
from state.events.base import Event
from state.events.conversation import PlanRecorded
from state.events.fold import create_state
from state.model.card import Card
from state.model.session_state import HistoryLine
from state.stored import JsonObject

ANNA = Actor(key="tg:1007", name="Анна", bitrix_user_id=7)


TABLE = Table(rows=(Row(label="Ромашка", url="u"),), total=1)


Answer = str | ModelText | ModelClientError


def reply(*steps: Mapping[str, Any], text: str = "Готово.") -> str:
    return f"THOUGHT:\nдумаю\nACTION:\n{json.dumps(list(steps), ensure_ascii=False)}\nASSISTANT:\n{text}"


def step(method: str = "crm.deal.list", **params: Any) -> dict[str, Any]:
    return {"method": method, "params": params, "comment": "зачем"}


def done(**more: Any) -> Outcome:
    return Outcome(**{"status": "succeeded", "effect_id": "e", "method": "crm.deal.list", "call_class": "R", "result": [], **more})


def pending(number: int = 1) -> Pending:
    return Pending(effect_id=f"e{number}", confirmation_id=f"c{number}", method="crm.deal.update")


class Fake:
    """A context that answers from scripts and remembers what it was asked."""

    def __init__(self, *answers: Answer, results: Any = (), turn: TurnInput | None = None, mode: Mode = "full", **more: Any) -> None:
        self.turn = turn or TurnInput(turn_id="t1", text="подними сумму сделки 481")
        self.actor, self.mode, self.now = ANNA, mode, datetime(2026, 11, 21, 12, tzinfo=UTC)
        self.state = create_state()
        self.state.history = [HistoryLine.create(role="user", text=self.turn.text, turn_id=self.turn.turn_id)]
        self.halt_on_block = False
        self.waiting: Sequence[str] = ()
        self.told_iterations, self.told_answers = 0, -1
        self.told_provenance: Provenance | None = None
        self.answers, self.results = deque(answers), deque(results)
        self.plans: dict[int, Any] = {}
        self.requests: list[TurnModelRequest] = []
        self.effects: list[Effect] = []
        self.events: list[Event] = []
        self.partials: list[str] = []
        self.notes: list[tuple[int, Mapping[str, Any]]] = []
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.resolve: Callable[..., Any] = lambda **_: Resolved(value=1)
        self.dates: Callable[..., Any] = lambda **args: DatedParams(params=args["params"])
        self.present = deque[OutcomeView]()
        self.named: set[str] = set()
        self.weighed: list[Effect] = []
        self.asking: set[str] = set()
        """The methods of effects about which a person would be asked for their consent."""
        self.card = ""
        for name, value in more.items():
            setattr(self, name, value)

    async def show_partial(self, text: str) -> None:
        self.partials.append(text)

    async def ask_model(self, request: TurnModelRequest, on_delta: Callable[[str], Awaitable[None]] | None = None) -> ModelText:
        self.requests.append(request)
        answer = self.answers.popleft()
        if isinstance(answer, ModelClientError):
            raise answer
        found = ModelText(text=answer, prose=request.prose) if isinstance(answer, str) else answer
        if on_delta is not None:
            for start in range(0, len(found.text), 5):
                await on_delta(found.text[start : start + 5])
        return found

    async def query(self, name: str, **args: Any) -> Any:
        self.asked.append((name, args))
        match name:
            case "when":
                return {"now": "2026-11-21T15:00:00+03:00", "zone": "Europe/Moscow", "calendar": []}
            case "current":
                return {}
            case "portal_card":
                return self.card
            case "startable":
                return ()
            case "resolve":
                return self.resolve(**args)
            case "dates":
                return self.dates(**args)
            case "present":
                return self.present.popleft() if self.present else OutcomeView(text="ok")
            case "kind":
                return ""
            case "named":
                return self.named
        raise KeyError(name)

    async def submit(self, effect: Effect) -> Outcome | Pending:
        self.effects.append(effect)
        return cast("Outcome | Pending", self.results.popleft()) if self.results else done(method=effect.method)

    def count_changes(self, effect: Effect) -> int:
        return 0 if effect.method.endswith((".list", ".get", ".fields")) else 1

    async def find_refusal(self, effect: Effect, records: Sequence[NewRecord]) -> Outcome | None:
        del effect, records
        return None

    async def needs_consent(self, effect: Effect, made: Collection[tuple[str, int]] = ()) -> bool:
        self.weighed.append(effect)
        return effect.method in self.asking

    async def load_proposed_params(self, card: Card) -> JsonObject:
        return card.params

    async def record(self, event: Event) -> None:
        self.events.append(event)

    def is_told(self, slot: str) -> bool:
        del slot
        return False

    def find_recorded_plan(self, iteration: int) -> PlanRecorded | None:
        return PlanRecorded.from_data(self.plans[iteration]) if iteration in self.plans else None

    def record_iteration(self, iteration: int, blocks: Mapping[str, Any]) -> None:
        self.notes.append((iteration, blocks))

    def prompt(self, number: int = -1) -> list[dict[str, str]]:
        return [dict(item) for item in self.requests[number].messages]


def agent(most: int = 6) -> CrmAgent:
    return CrmAgent(
        constitution="CONSTITUTION", protocol="PROTOCOL", methods=lambda mode, _sees_all: f"METHODS of {mode}", max_iterations=most
    )


async def run(ctx: Fake, most: int = 6) -> TurnEnd:
    end = await agent(most).run(cast("TurnContext", ctx))
    assert not ctx.answers, "an answer was never asked for"
    return end


def codes(end: TurnEnd) -> list[str]:
    return [notice.code for notice in end.reply.notices]
