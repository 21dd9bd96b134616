"""The outside of the lab's runs: the world of `lab`, whose model also answers the prompts of runs, each with its own text."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.crash.lab import World
from tests.crash.lab_runs import OPERATIONS
from tests.crash.lab_wire import Asked, serving
from tests.unit.engines.flows.acting_flow import answer_question, name_question

PIECE = 7
"""How many characters of an answer come at a time."""


@dataclass
class RunWorld(World):
    """What is counted here is what really happened."""

    prompts: list[tuple[int, float, str]] = field(default_factory=list)
    """(generation, time, prompt) of every request of a run to the model."""

    async def _answer(self, request: Asked, payload: dict[str, Any]) -> tuple[int, bytes]:
        question = name_question(payload["messages"]) if request.name == "completions" else ""
        if not question and (request.name != "completions" or any(one["role"] == "system" for one in payload["messages"])):
            return await super()._answer(request, payload)
        prompt = question or payload["messages"][-1]["content"]
        self.prompts.append((self.generation, time.time(), prompt))
        if self.held and request.name.startswith(self.held):
            self.reached.set()
            await self.let_go.wait()
        text, calls = answer_question(prompt, OPERATIONS)
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if calls:
            message["tool_calls"] = [
                {"id": f"c{place}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
                for place, (name, given) in enumerate(calls)
            ]
        if payload.get("stream") and not calls:
            return 200, _write_stream(text)
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        whole = {"model": "lab", "choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
        return 200, json.dumps(whole).encode()


def _write_stream(text: str) -> bytes:
    """The answer as a service of models streams it, in pieces."""
    pieces = [text[start : start + PIECE] for start in range(0, len(text), PIECE)]
    chunks: list[dict[str, Any]] = [{"model": "lab", "choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    chunks.append({"model": "lab", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    chunks.append({"model": "lab", "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}})
    return "".join(f"data: {json.dumps(one)}\n\n" for one in chunks).encode() + b"data: [DONE]\n\n"


@asynccontextmanager
async def opened_run_world() -> AsyncIterator[RunWorld]:
    """A portal and a model on a loopback port."""
    world = RunWorld()
    async with serving(world.answering) as world.port:
        yield world
