"""The turn of `turn.py` in the agent frameworks: text → model → approval stored → approve → tool → model → stored.

Each in the smallest honest way its own documentation shows, with a model and a tool that answer at once, on the same disk as ours, SQLite
with synchronous=FULL. Where a framework leaves storing to the application, one row per conversation is written at both stops. Nothing here
reaches the network: tracing is off, and no framework is given an address.
"""

import asyncio
import contextlib
import json
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ |= {"OPENAI_AGENTS_DISABLE_TRACING": "1", "LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false"}

WARM_UP = 10
FRESH = 50
LONG = 200
WINDOW = 20
TEXT = "подними сумму сделки 481, раз {}"
SAID = "Меняю сумму сделки."
DONE = "Готово."
TOOL = "update_deal"

Turn = Callable[[str, int], None]
"""(conversation, number of the turn) → the whole turn, stored."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Milliseconds of a turn: first of a conversation, early in one, late in one (2,000 for us, 200 for the others)."""

    name: str
    fresh: float
    early: float
    late: float


class Deal:
    """What the tool writes to; counts, so that a turn that did nothing is not measured."""

    def __init__(self) -> None:
        self.writes = 0

    def update(self, opportunity: int) -> str:
        """Write the sum."""
        del opportunity
        self.writes += 1
        return "true"


def peers() -> list[Figures]:
    """Every framework that is installed, one after the other."""
    found = []
    for name, make in MAKERS.items():
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            deal = Deal()
            try:
                turn = stack.enter_context(make(Path(folder) / "peer.db", deal))
            except ImportError:
                continue
            found.append(_measured(name, turn))
            if deal.writes != FRESH + LONG:
                msg = f"{name}: {deal.writes} writes for {FRESH + LONG} approvals"
                raise RuntimeError(msg)
    return found


def _measured(name: str, turn: Turn) -> Figures:
    fresh = [_seconds(turn, f"fresh-{number}", number) for number in range(FRESH)]
    long = [_seconds(turn, "long", number) for number in range(LONG)]
    return Figures(name=name, fresh=_ms(fresh[WARM_UP:]), early=_ms(long[:WINDOW]), late=_ms(long[-WINDOW:]))


def _seconds(turn: Turn, thread: str, number: int) -> float:
    started = time.perf_counter()
    turn(thread, number)
    return time.perf_counter() - started


def _ms(seconds: list[float]) -> float:
    return round(statistics.median(seconds) * 1000, 2)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    return connection


class Rows:
    """One row per conversation, for frameworks that leave storing to the application."""

    def __init__(self, path: Path) -> None:
        self._connection = _connect(path)
        self._connection.execute("CREATE TABLE kept (thread TEXT PRIMARY KEY, state BLOB NOT NULL)")

    def put(self, thread: str, state: bytes | str) -> None:
        """Store it durably."""
        self._connection.execute(
            "INSERT INTO kept VALUES (?, ?) ON CONFLICT (thread) DO UPDATE SET state = excluded.state", (thread, state)
        )
        self._connection.commit()

    def get(self, thread: str) -> Any:
        """What was stored last, None for a new conversation."""
        row = self._connection.execute("SELECT state FROM kept WHERE thread = ?", (thread,)).fetchone()
        return row[0] if row else None


@contextlib.contextmanager
def _langgraph(path: Path, deal: Deal) -> Iterator[Turn]:
    """A graph of three nodes; the approval is an `interrupt`, every step a checkpoint (durability="sync")."""
    from langgraph.checkpoint.sqlite import SqliteSaver  # noqa: PLC0415 - the peers are optional
    from langgraph.graph import END, START, MessagesState, StateGraph  # noqa: PLC0415
    from langgraph.types import Command, interrupt  # noqa: PLC0415

    def model(state: Any) -> dict[str, Any]:
        if state["messages"][-1].type == "tool":
            return {"messages": [{"role": "assistant", "content": DONE}]}
        call = {"name": TOOL, "args": {"opportunity": 100_000 + len(state["messages"])}, "id": f"c{len(state['messages'])}"}
        return {"messages": [{"role": "assistant", "content": SAID, "tool_calls": [call]}]}

    def act(state: Any) -> dict[str, Any]:
        call = state["messages"][-1].tool_calls[0]
        if not interrupt({"call": call}):
            msg = "nobody denies here"
            raise RuntimeError(msg)
        return {"messages": [{"role": "tool", "content": deal.update(**call["args"]), "tool_call_id": call["id"]}]}

    def more(state: Any) -> str:
        return "act" if state["messages"][-1].tool_calls else END

    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("act", act)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", more, ["act", END])
    graph.add_edge("act", "model")
    app: Any = graph.compile(checkpointer=SqliteSaver(_connect(path)))

    def turn(thread: str, number: int) -> None:
        config = {"configurable": {"thread_id": thread}}
        app.invoke({"messages": [{"role": "user", "content": TEXT.format(number)}]}, config, durability="sync")
        app.invoke(Command(resume=True), config, durability="sync")

    yield turn


@contextlib.contextmanager
def _langchain(path: Path, deal: Deal) -> Iterator[Turn]:
    """`create_agent` with its own middleware for approvals."""
    from langchain.agents import create_agent  # noqa: PLC0415
    from langchain.agents.middleware import HumanInTheLoopMiddleware  # noqa: PLC0415
    from langchain_core.language_models.chat_models import BaseChatModel  # noqa: PLC0415
    from langchain_core.messages import AIMessage  # noqa: PLC0415
    from langchain_core.outputs import ChatGeneration, ChatResult  # noqa: PLC0415
    from langchain_core.tools import tool  # noqa: PLC0415
    from langgraph.checkpoint.sqlite import SqliteSaver  # noqa: PLC0415
    from langgraph.types import Command  # noqa: PLC0415

    class Instant(BaseChatModel):
        """A chat model that answers at once."""

        @property
        def _llm_type(self) -> str:
            return "instant"

        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            del tools, kwargs
            return self

        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
            del stop, run_manager, kwargs
            if messages[-1].type == "tool":
                answer = AIMessage(content=DONE)
            else:
                call = {"name": TOOL, "args": {"opportunity": 100_000 + len(messages)}, "id": f"c{len(messages)}"}
                answer = AIMessage(content=SAID, tool_calls=[call])
            return ChatResult(generations=[ChatGeneration(message=answer)])

    @tool
    def update_deal(opportunity: int) -> str:
        """Change the sum of the deal."""
        return deal.update(opportunity)

    app: Any = create_agent(
        model=Instant(),
        tools=[update_deal],
        middleware=[HumanInTheLoopMiddleware(interrupt_on={TOOL: True})],
        checkpointer=SqliteSaver(_connect(path)),
    )

    def turn(thread: str, number: int) -> None:
        config = {"configurable": {"thread_id": thread}}
        app.invoke({"messages": [{"role": "user", "content": TEXT.format(number)}]}, config, durability="sync")
        app.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config, durability="sync")

    yield turn


@contextlib.contextmanager
def _pydantic_ai(path: Path, deal: Deal) -> Iterator[Turn]:
    """A tool that requires approval; the messages are stored at both stops."""
    from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults  # noqa: PLC0415
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart, ToolReturnPart  # noqa: PLC0415
    from pydantic_ai.models.function import FunctionModel  # noqa: PLC0415

    def answer(messages: Any, info: Any) -> ModelResponse:
        del info
        if isinstance(messages[-1].parts[-1], ToolReturnPart):
            return ModelResponse(parts=[TextPart(DONE)])
        call = ToolCallPart(TOOL, {"opportunity": 100_000 + len(messages)}, tool_call_id=f"c{len(messages)}")
        return ModelResponse(parts=[TextPart(SAID), call])

    def update_deal(opportunity: int) -> str:
        """Change the sum of the deal."""
        return deal.update(opportunity)

    agent: Any = Agent(FunctionModel(answer), output_type=[str, DeferredToolRequests])
    agent.tool_plain(name=TOOL, requires_approval=True)(update_deal)
    rows = Rows(path)

    async def turn(thread: str, number: int) -> None:
        kept = rows.get(thread)
        asked = await agent.run(TEXT.format(number), message_history=ModelMessagesTypeAdapter.validate_json(kept) if kept else None)
        rows.put(thread, asked.all_messages_json())
        approvals: dict[str, Any] = {call.tool_call_id: True for call in asked.output.approvals}
        history = ModelMessagesTypeAdapter.validate_json(rows.get(thread))
        done = await agent.run(message_history=history, deferred_tool_results=DeferredToolResults(approvals=approvals))
        rows.put(thread, done.all_messages_json())

    with asyncio.Runner() as runner:
        yield lambda thread, number: runner.run(turn(thread, number))


@contextlib.contextmanager
def _openai_agents(path: Path, deal: Deal) -> Iterator[Turn]:
    """A tool that needs approval; the run's state is stored at the stop, the messages at the end."""
    from agents import Agent, Model, ModelResponse, RunConfig, Runner, RunState, Usage, function_tool  # noqa: PLC0415
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText  # noqa: PLC0415

    class Instant(Model):
        """A model that answers at once."""

        async def get_response(self, system_instructions: Any, input: Any, *rest: Any, **more: Any) -> ModelResponse:  # noqa: A002
            del system_instructions, rest, more
            last = input[-1] if isinstance(input, list) else {}
            output: Any = _message(DONE)
            if last.get("type") != "function_call_output":
                size = len(input) if isinstance(input, list) else 1
                given = json.dumps({"opportunity": 100_000 + size})
                output = ResponseFunctionToolCall(type="function_call", name=TOOL, call_id=f"c{size}", arguments=given)
            return ModelResponse(output=[output], usage=Usage(), response_id=None)

        def stream_response(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

    def _message(text: str) -> ResponseOutputMessage:
        part = ResponseOutputText(type="output_text", text=text, annotations=[])
        return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[part])

    @function_tool(name_override=TOOL, needs_approval=True)
    def update_deal(opportunity: int) -> str:
        """Change the sum of the deal."""
        return deal.update(opportunity)

    agent: Any = Agent(name="crm", model=Instant(), tools=[update_deal])
    config = RunConfig(tracing_disabled=True)
    rows = Rows(path)

    async def turn(thread: str, number: int) -> None:
        kept = rows.get(thread)
        messages = [*(json.loads(kept) if kept else []), {"role": "user", "content": TEXT.format(number)}]
        asked = await Runner.run(agent, messages, run_config=config)
        rows.put(thread, asked.to_state().to_string())
        state: Any = await RunState.from_string(agent, rows.get(thread))
        for item in state.get_interruptions():
            state.approve(item)
        done = await Runner.run(agent, state, run_config=config)
        rows.put(thread, json.dumps(done.to_input_list()))

    with asyncio.Runner() as runner:
        yield lambda thread, number: runner.run(turn(thread, number))


MAKERS: dict[str, Callable[[Path, Deal], contextlib.AbstractContextManager[Turn]]] = {
    "langgraph": _langgraph,
    "langchain": _langchain,
    "pydantic-ai": _pydantic_ai,
    "openai-agents": _openai_agents,
}
