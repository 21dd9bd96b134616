"""Works on one message in the steps of seed 001: classify, select a tool, check its parameters, run it."""

import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, Final, Literal, assert_never

from pydantic import BaseModel

from engines.tool_agent.core.toolbox import (
    AgentSettings,
    Fault,
    Message,
    Note,
    Remember,
    Tool,
    ToolAnswer,
    ToolPorts,
    Words,
    build_message,
    format_arguments,
)
from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import MalformedAnswer, ModelOptions, ModelTool, ToolCall, UnusableAnswer
from orchestrator.engines.base import ModelText, TurnModelRequest
from orchestrator.language.lexicon import load_lexicon

Prefix = Literal["main", "cls", "select", "valid", "exec"]
Status = Literal["answered", "again", "ended"]
"""With an answer, with the request to write anew, or with a failure of the model that ends the session."""
_TEXTS: Final = load_lexicon("tool_agent")
_YES: Final = frozenset(_TEXTS.read_words("positive"))
_WORD: Final = re.compile(r"[^\W_]+")
_EXACT: Final = 0.001

log = logging.getLogger(__name__)


class Code(IntEnum):
    """How a step ended (X9); the hundreds stand for [cls], [select], [valid] and [exec]."""

    RELEVANT = 100
    IRRELEVANT = 101
    CLASSIFY_LLM_ERROR = 102
    CLASSIFY_PARSE_ERROR = 103
    SELECTED = 200
    NOT_SELECTED = 201
    SELECT_LLM_ERROR = 202
    SELECT_PARSE_ERROR = 203
    VALID = 300
    INVALID = 301
    DONE = 400
    SERVICE_DOWN = 401
    CALL_FAILED = 402


MOST_TOLD: Final = 8_000
"""Characters of a history message that the model is told: a service may answer with a book."""
TERMINAL_HELP: Final = "ask-help"


@dataclass(frozen=True, slots=True)
class Line:
    role: Literal["user", "assistant"]
    content: str


async def _make_now(_name: str, make: Callable[[], Awaitable[Any]]) -> Any:
    return await make()


def write_log(level: int, text: str) -> None:
    log.log(level, "%s", text, extra={"action": "tool_agent"})


@dataclass(frozen=True, kw_only=True)
class RoundPorts(ToolPorts):
    """`ask` raises ModelClientError; `is_prose`: the history may hold text of others."""

    ask: Callable[[TurnModelRequest], Awaitable[ModelText]]
    say: Callable[[Message], Awaitable[None]]
    words: Words
    settings: AgentSettings = field(default_factory=AgentSettings)
    note: Note = write_log
    remember: Remember = _make_now
    is_prose: bool = False
    help_code: str = TERMINAL_HELP


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundResult:
    """The codes of the steps, what the last of them said, and what its tool answered."""

    codes: tuple[Code, ...]
    status: Status
    messages: tuple[Message, ...]
    answer: ToolAnswer | None = None

    @property
    def code(self) -> Code:
        return self.codes[-1]


@dataclass(frozen=True, slots=True)
class _Classify:
    pass


@dataclass(frozen=True, slots=True)
class _Select:
    pass


@dataclass(frozen=True, slots=True)
class _Validate:
    call: ToolCall


@dataclass(frozen=True, slots=True)
class _Execute:
    tool: Tool[Any]
    params: BaseModel


_State = _Classify | _Select | _Validate | _Execute


async def run_round(history: list[Line], tools: Sequence[Tool[Any]], ports: RoundPorts) -> RoundResult:
    """Answer the last message of `history`, and add what the agent says and the seed keeps (S001-26…77)."""
    return await _Round(history, list_offered(tools, has_portal=ports.find_records is not None), ports).run()


def list_offered(tools: Sequence[Tool[Any]], *, has_portal: bool) -> list[Tool[Any]]:
    """Without a portal, leave out tools that need one."""
    return [tool for tool in tools if has_portal or not tool.needs_portal]


def build_help(tools: Sequence[Tool[Any]], words: Words, code: str = TERMINAL_HELP) -> Message:
    return build_message(code, tools="\n".join(f"— {words(build_message(tool.build_code('line')).notice)}" for tool in tools))


def prefix_note(note: Note, prefix: Prefix) -> Note:
    """Begin each line with the prefix of the step (S001-2)."""
    return lambda level, text: note(level, f"[{prefix}] {text}")


class _Round:
    def __init__(self, history: list[Line], tools: Sequence[Tool[Any]], ports: RoundPorts) -> None:
        self._history, self._tools, self._ports = history, {tool.name: tool for tool in tools}, ports
        self._codes: list[Code] = []

    async def run(self) -> RoundResult:
        state: _State | RoundResult = _Classify()
        while not isinstance(state, RoundResult):
            match state:
                case _Classify():
                    state = await self._classify()
                case _Select():
                    state = await self._select()
                case _Validate():
                    state = await self._validate(state.call)
                case _Execute():
                    state = await self._execute(state.tool, state.params)
                case _:
                    assert_never(state)
        return state

    async def _classify(self) -> _State | RoundResult:
        note = await self._begin("cls", "AgentClassify", "ask-classifying")
        codes = (Code.CLASSIFY_LLM_ERROR, Code.CLASSIFY_PARSE_ERROR)
        options = ModelOptions(temperature=_EXACT, max_tokens=1, may_be_cut=True)
        try:
            model_text = await self._ask(1, "classify", options)
        except ModelClientError as error:
            return await self._fail(error, "classify_intent", note, codes)
        if not model_text.text.strip():
            return await self._fail(UnusableAnswer("the answer is empty"), "classify_intent", note, codes)
        if not is_yes(model_text.text):
            await self._say(refused := build_message("ask-irrelevant", is_kept=True))
            await self._say(message := build_help([*self._tools.values()], self._ports.words, self._ports.help_code))
            note(logging.WARNING, "classify_intent // Irrelevant query")
            return self._end(Code.IRRELEVANT, refused, message)
        await self._say(build_message("ask-relevant", is_kept=True, is_progress=True))
        note(logging.DEBUG, "classify_intent // Relevant query")
        self._codes.append(Code.RELEVANT)
        return _Select()

    async def _select(self) -> _State | RoundResult:
        note = await self._begin("select", "AgentSelect", "ask-selecting")
        codes = (Code.SELECT_LLM_ERROR, Code.SELECT_PARSE_ERROR)
        offered = tuple(tool.describe() for tool in self._tools.values())
        try:
            model_text = await self._ask(2, "select", ModelOptions(temperature=_EXACT), tools=offered)
        except ModelClientError as error:
            return await self._fail(error, "select_tool_call", note, codes)
        call = model_text.calls[0] if model_text.calls else None
        if call is None:
            await self._say(refused := build_message("ask-not-selected", is_kept=True))
            note(logging.WARNING, "select_tool_call // Selection Fail")
            return self._end(Code.NOT_SELECTED, refused)
        if call.problem and (call.name in self._tools or not call.name):
            return await self._fail(UnusableAnswer(call.problem), "select_tool_call", note, codes)
        chosen = {"tool": call.name, "params": format_arguments(call.arguments)}
        await self._say(build_message("ask-selected", is_kept=True, is_progress=True, **chosen))
        note(logging.DEBUG, "select_tool_call // Selection OK")
        self._codes.append(Code.SELECTED)
        return _Validate(call)

    async def _validate(self, call: ToolCall) -> _State | RoundResult:
        note = await self._begin("valid", "AgentValidate", "ask-validating")
        tool = self._tools.get(call.name)
        if tool is None:
            return await self._refuse("ask-unknown-tool", f"Unknown tool: {call.name}", note)
        params = tool.check(call.arguments, self._ports.settings)
        if isinstance(params, Fault):
            code = tool.build_code("long") if params.what == "Too Long" else "ask-unclear"
            return await self._refuse(code, f"{params.what} Param: {tool.name}::{params.param}", note)
        await self._say(build_message(tool.build_code("ready"), is_kept=True, is_progress=True, **params.model_dump()))
        note(logging.DEBUG, "validate_tool_call // Validation OK")
        self._codes.append(Code.VALID)
        return _Execute(tool, params)

    async def _execute(self, tool: Tool[Any], params: BaseModel) -> RoundResult:
        note = await self._begin("exec", "AgentExecute", "ask-executing")
        answer = await tool.run(params, replace(self._ports, note=note))
        for message in answer.messages:
            await self._say(message)
        code = {"": Code.DONE, "down": Code.SERVICE_DOWN, "failed": Code.CALL_FAILED}[answer.fault]
        return replace(self._end(code, *answer.messages), answer=answer)

    async def _begin(self, prefix: Prefix, status: str, code: str) -> Note:
        """Say and log the begin of a step; return the function that logs under its prefix."""
        note = prefix_note(self._ports.note, prefix)
        await self._say(build_message(code, is_progress=True))
        note(logging.DEBUG, status)
        return note

    async def _ask(self, iteration: int, prompt: str, options: ModelOptions, tools: Sequence[ModelTool] = ()) -> ModelText:
        tool_lines = "\n".join(f"- {tool.name}: {tool.description}" for tool in self._tools.values())
        system = _TEXTS.read_text("prompts", prompt).replace("{tools}", tool_lines)
        limit = self._ports.settings.history_limit
        recent = [{"role": line.role, "content": line.content[:MOST_TOLD]} for line in self._history[-limit:]]
        return await self._ports.ask(
            TurnModelRequest(
                messages=({"role": "system", "content": system}, *recent),
                role="tool",
                options=options,
                tools=tools,
                prose=self._ports.is_prose,
                iteration=iteration,
            )
        )

    async def _refuse(self, code: str, why: str, note: Note) -> RoundResult:
        await self._say(refused := build_message(code, is_kept=True))
        note(logging.WARNING, f"validate_tool_call // {why}")
        return self._end(Code.INVALID, refused)

    async def _fail(self, error: ModelClientError, action: str, note: Note, codes: tuple[Code, Code]) -> RoundResult:
        """End with the first code if the model did not answer, the second if its answer cannot be read (A2)."""
        is_answer = isinstance(error, UnusableAnswer | MalformedAnswer)
        await self._say(failed := build_message("ask-parse-error" if is_answer else "ask-llm-error"))
        note(logging.CRITICAL, f"{action} // {'LLM Response Parse Error' if is_answer else 'LLM Error'}: {error.reason}")
        return replace(self._end(codes[1] if is_answer else codes[0], failed), status="ended")

    async def _say(self, message: Message) -> None:
        await self._ports.say(message)
        if message.is_kept:
            self._history.append(Line("assistant", self._ports.words(message.notice)))

    def _end(self, code: Code, *messages: Message) -> RoundResult:
        return RoundResult(codes=(*self._codes, code), status="answered" if code is Code.DONE else "again", messages=messages)


def is_yes(text: str) -> bool:
    """The first word decides (A2): «никогда» is no yes."""
    first = _WORD.search(text)
    return first is not None and first[0].casefold() in _YES
