"""What `--spend` tries of one provider."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from bot.cli.doctor.findings import Area, Finding
from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import EmbedRequest, ModelAnswer, ModelRequest, ModelTool
from orchestrator.model_client.providers import OpenAiProvider
from state.canonical import dumps
from state.stored import JsonObject

T = TypeVar("T")
_ANSWER_WITHIN: Final = 60.0
_DAY: Final = ModelTool(name="get_day", description="Returns the day of the week.")
_PASSAGES: Final = ("The first passage.", "The second one.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """`suffix` tells checks apart where there are several; `model` is the provider's own."""

    area: Area
    provider: OpenAiProvider
    model: str
    suffix: str

    async def try_word(self) -> Finding:
        """As people's questions are asked: streamed, with all settings."""
        question = ModelRequest(messages=({"role": "user", "content": "Answer with the single word OK."},))
        answer = await self._ask("one answer", lambda: self.provider.chat(question))
        if isinstance(answer, Finding):
            return answer
        return self._report("one answer", f"{self.model} answered", answer.prompt_tokens + answer.completion_tokens)

    async def try_call(self) -> Finding:
        """The result is sent back with all that the service wants to see again."""
        question = {"role": "user", "content": "Which day of the week is it today? Call the function get_day."}
        first = await self._ask_with_tool("one call of a tool", question)
        if isinstance(first, Finding):
            return first
        if not first.calls:
            says = f"{self.model} answered in words and called no tool."
            return self.area.report_warning(
                self._name("one call of a tool"), says, "Agents of flows and the tool agent need a model that calls tools."
            )
        call = first.calls[0]
        tool_call = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": dumps(dict(call.arguments))}}
        reply = {"role": "assistant", "content": first.text, "tool_calls": [{**tool_call, **({"state": call.state} if call.state else {})}]}
        result = {"role": "tool", "tool_call_id": call.id, "content": dumps({"day": "Monday"})}
        second = await self._ask_with_tool("one call of a tool", question, reply, result)
        if isinstance(second, Finding):
            return second
        tokens = sum(answer.prompt_tokens + answer.completion_tokens for answer in (first, second))
        return self._report("one call of a tool", f"{self.model} called a tool and took its result", tokens)

    async def try_vectors(self, model: str) -> Finding:
        """Of two passages and a question, which must be comparable."""
        check = "vectors"
        passages = await self._ask(check, lambda: self.provider.embed(EmbedRequest(texts=_PASSAGES)))
        if isinstance(passages, Finding):
            return passages
        request = EmbedRequest(texts=("A question?",), purpose="question")
        question = await self._ask(check, lambda: self.provider.embed(request))
        if isinstance(question, Finding):
            return question
        sizes = len(passages.vectors[0]), len(question.vectors[0])
        if sizes[0] != sizes[1]:
            says = f"{model} makes vectors of {sizes[0]} numbers and {question.model} of {sizes[1]}: they cannot be compared."
            return self.area.report_wrong(self._name(check), says, "Correct embedding_question_model in MODELS_FILE, see docs/models.md.")
        names = model if question.model == model else f"{model} and, for questions, {question.model}"
        return self._report(check, f"{names} made vectors of {sizes[0]} numbers", passages.tokens + question.tokens)

    async def _ask_with_tool(self, check: str, *messages: JsonObject) -> ModelAnswer | Finding:
        request = ModelRequest(messages=messages, role="tool", tools=(_DAY,))
        return await self._ask(check, lambda: self.provider.chat(request))

    async def _ask(self, check: str, ask: Callable[[], Awaitable[T]]) -> T | Finding:
        try:
            async with asyncio.timeout(_ANSWER_WITHIN):
                return await ask()
        except TimeoutError:
            says = f"It did not answer within {_ANSWER_WITHIN:g} seconds."
            return self.area.report_wrong(self._name(check), says, "Try again later, or another model.")
        except ModelClientError as error:
            return self.area.report_wrong(
                self._name(check),
                error.reason,
                "Read what it says: no such model, an option that it does not take (docs/models.md), no money, too many requests.",
            )

    def _report(self, check: str, says: str, tokens: int) -> Finding:
        return self.area.report_ok(self._name(check), says + (f"; it cost {tokens} tokens." if tokens else "."))

    def _name(self, check: str) -> str:
        return check + self.suffix
