"""The tools that an agent may use at a step.

Each call is a node of the run, so nothing is read twice. Reads pass the gate with the rights of the run's person.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from engines.flows.core.definition import OWN_TOOLS, Agent
from orchestrator.domain.effect import Outcome
from orchestrator.domain.models import ModelTool
from orchestrator.domain.own_reads import FindDocuments, read_documents
from orchestrator.domain.taint import FOREIGN, NOWHERE, Origins, Value
from orchestrator.engines.runs import RunContext, RunEffect, RunFailed, RunModelRequest
from orchestrator.engines.shared.calculator import NotCalculable, calculate_text
from orchestrator.engines.shared.model_json import decode_json
from state.canonical import dumps
from state.stored import JsonObject

MOST_ROUNDS: Final = 6
"""Questions in one attempt; after the last one the model has to have answered."""
MOST_CALLS: Final = 8
"""Calls of one answer; the model is told that others are too many."""
LONGEST_ANSWER: Final = 20_000
"""Characters of what one call gives."""
_PROSE: Final[Origins] = frozenset({"prose"})
_DOCUMENT: Final[Origins] = frozenset({"document"})
_DETAIL: Final[Origins] = frozenset({"label"})


class Heard:
    """The origins of texts of strangers in the run; it only grows, also by attempts that gave nothing."""

    def __init__(self) -> None:
        self.origins: Origins = NOWHERE

    def add(self, origins: Origins) -> None:
        self.origins |= origins & FOREIGN


class ToolsEndless(Exception):
    """The model still asks for tools after `MOST_ROUNDS` questions."""


@dataclass(frozen=True, slots=True)
class Toolbox:
    agent: Agent
    ctx: RunContext
    heard: Heard
    find_documents: FindDocuments | None = None

    def describe(self) -> tuple[ModelTool, ...]:
        return tuple(_describe(name) for name in dict.fromkeys(self.agent.tools))

    async def answer(self, node: str, name: str, arguments: Mapping[str, Any], origins: Origins) -> Value:
        methods = {_name_function(tool): tool for tool in self.agent.tools}
        method = methods.get(name)
        if method is None:
            return Value(f"There is no tool {name[:80]!r}. There are: {', '.join(methods)}.", _DETAIL)
        perform = _OWN.get(method)
        if perform is not None:
            return await perform(self, node, arguments, origins)
        return await self._read(node, method, arguments, origins)

    async def _read(self, node: str, method: str, arguments: Mapping[str, Any], origins: Origins) -> Value:
        params = _read_params(arguments.get("params"))
        if params is None:
            return Value("The parameter params is no JSON object.", _DETAIL)
        run_effect = RunEffect(method=method, params={name: Value(param, origins) for name, param in params.items()}, must_read=True)
        outcome = await self.ctx.submit(node, run_effect)
        return Value(_tell_outcome(outcome), _PROSE)

    async def search(self, node: str, arguments: Mapping[str, Any], _origins: Origins) -> Value:
        question = str(arguments.get("question") or "").strip()
        if not question:
            return Value("The parameter question is missing.", _DETAIL)
        ctx = self.ctx
        read = partial(read_documents, self.find_documents, question, person=ctx.run.owner, role=ctx.actor.role, top_k=None)
        reply = await ctx.memo(node, read, origins=_DOCUMENT)
        return reply.map(lambda data: _shorten(dumps(data)))

    async def calculate(self, _node: str, arguments: Mapping[str, Any], origins: Origins) -> Value:
        """The same words always give the same, so nothing is stored."""
        try:
            result, currency = calculate_text(str(arguments.get("expression") or ""), self.ctx.actor.locale)
        except NotCalculable:
            return Value("This is no calculation that can be carried out.", _DETAIL)
        return Value(f"{result:f} {currency or ''}".strip(), origins)


_OWN: Final[Mapping[str, Callable[[Toolbox, str, Mapping[str, Any], Origins], Awaitable[Value]]]] = {
    "rag_search": Toolbox.search,
    "calculate": Toolbox.calculate,
}


async def ask_with_tools(toolbox: Toolbox, node: str, request: RunModelRequest) -> Value:
    """Make the calls that the model asks for until it ends with a text.

    Raises RunFailed without an answer, ToolsEndless after `MOST_ROUNDS`.
    """
    ctx, messages, origins = toolbox.ctx, list(request.messages), request.origins
    calls = 0
    for number in range(1, MOST_ROUNDS + 1):
        name = node if number == 1 else f"{node}/round-{number}"
        if ctx.count_failures(name):
            raise RunFailed("degraded", f"the model gave no answer to {name}")
        answer = await ctx.ask_model(name, replace(request, messages=tuple(messages), tools=toolbox.describe(), origins=origins))
        calls_json: Sequence[Mapping[str, Any]] = answer.data["calls"]
        if not calls_json:
            return answer.get("text")
        messages.append(_write_calls(answer.data))
        for place, call in enumerate(calls_json):
            calls += 1
            call_reply = await _answer_call(toolbox, f"{node}/call-{calls}", call, answer.origins, is_one_too_many=place >= MOST_CALLS)
            origins |= call_reply.origins
            toolbox.heard.add(call_reply.origins)
            messages.append({"role": "tool", "tool_call_id": str(call["id"]), "content": call_reply.data})
    raise ToolsEndless(f"the agent asks for tools again and again: {MOST_ROUNDS} questions were not enough")


async def _answer_call(toolbox: Toolbox, node: str, call: Mapping[str, Any], origins: Origins, *, is_one_too_many: bool) -> Value:
    if is_one_too_many:
        return Value(f"Not more than {MOST_CALLS} calls at once. Ask again if it is needed.", _DETAIL)
    if call.get("problem"):
        return Value(f"The call cannot be made: {call['problem']}", _DETAIL)
    return await toolbox.answer(node, str(call["name"]), call.get("arguments") or {}, origins)


def _write_calls(answer: Mapping[str, Any]) -> JsonObject:
    call_messages = [
        {"id": str(call["id"]), "type": "function", "function": {"name": call["name"], "arguments": dumps(call.get("arguments") or {})}}
        | ({"state": call["state"]} if call.get("state") else {})
        for call in answer["calls"]
    ]
    return {"role": "assistant", "content": answer.get("text") or "", "tool_calls": call_messages}


def _name_function(tool: str) -> str:
    """Functions of models have no dots in their names."""
    return tool.replace(".", "_")


def _describe(tool: str) -> ModelTool:
    text = {"type": "string"}
    if tool in OWN_TOOLS:
        summary, parameter, meaning = OWN_TOOLS[tool]
        properties = {parameter: {**text, "description": meaning}}
        return ModelTool(name=tool, description=summary, parameters={"type": "object", "properties": properties, "required": [parameter]})
    meaning = 'The parameters of the method as a JSON object, such as {"filter": {"CLOSED": "N"}, "select": ["ID", "TITLE"]}.'
    properties = {"params": {**text, "description": meaning}}
    return ModelTool(
        name=_name_function(tool),
        description=f"Reads with the method {tool} of Bitrix24. A list gives at most 50 rows; start gives the next.",
        parameters={"type": "object", "properties": properties, "required": []},
    )


def _read_params(raw: object) -> JsonObject | None:
    """Accept an object, the text of one, or nothing as an empty one; None for anything else."""
    if isinstance(raw, str):
        try:
            raw = decode_json(raw) if raw.strip() else {}
        except ValueError:
            return None
    if raw is None:
        return {}
    return {str(name): one for name, one in raw.items()} if isinstance(raw, Mapping) else None


def _tell_outcome(outcome: Outcome) -> str:
    """As many rows as there is room for, or why there are none."""
    if outcome.status != "succeeded":
        return _shorten(f"Not read ({outcome.status}): {outcome.detail}")
    rows = outcome.result
    total = {} if outcome.total is None else {"total": outcome.total}
    if not isinstance(rows, list):
        return _shorten(dumps({"result": rows, **total}))
    fitting_rows: list[object] = []
    room = LONGEST_ANSWER - 100
    for row in rows:
        room -= len(dumps(row)) + 1
        if room < 0:
            break
        fitting_rows.append(row)
    left = {"left_out": len(rows) - len(fitting_rows)} if len(fitting_rows) < len(rows) else {}
    return dumps({"result": fitting_rows, **total, **left})


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST_ANSWER else f"{text[:LONGEST_ANSWER]} … (cut)"
