"""Runes that speak with models (S003-40, S003-42, S003-X7)."""

from typing import Final, Literal

from pydantic import Field

from engines.workflows.core.rune_types import (
    AUTHOR,
    PROMPTS,
    AnyRuneType,
    Changes,
    Local,
    RuneCall,
    RuneParams,
    RuneType,
    list_placeholders,
)
from orchestrator.domain.taint import Value, combine
from orchestrator.engines.shared.declared import Options
from orchestrator.expressions.placeholders import format_value

AI_OUTPUT: Final = "AiOutput"


class PromptParams(RuneParams):
    """What a prompt rune adds."""

    role: Literal["System", "User", "Assistant"] = Field("User", description="Who says it to the model.")
    template: str = Field(min_length=1, max_length=100_000, description="The text, with {{variable}}.")


class AiParams(RuneParams):
    """How a model is asked."""

    ai_service: str = Field(min_length=1, max_length=200, description="The model.")
    is_streaming: bool = Field(False, description="Whether the answer is shown while it comes.")
    options: Options = Field(default_factory=Options, description="How the model writes.")
    output: Local = Field(AI_OUTPUT, description="The variable that gets the answer.")


async def _add_prompt(call: RuneCall[PromptParams]) -> Changes:
    """Leave out a message that is empty after filling: services of models refuse it."""
    filled = call.fill(call.params.template)
    text = filled if isinstance(filled, Value) else Value(filled)
    before = call.variables.get(PROMPTS, Value([]))
    if not isinstance(before.data, list):
        raise call.fail(f"{PROMPTS} is no list of messages")
    if not str(text.data).strip():
        return {PROMPTS: Value(before.data, before.origins | text.origins | AUTHOR)}
    role = call.params.role
    joined = combine(lambda messages, more: [*messages, {"role": role, "content": format_value(more)}], before, text)
    return {PROMPTS: Value(joined.data, joined.origins | AUTHOR)}


async def _ask(call: RuneCall[AiParams]) -> Changes:
    params = call.params
    answer = await call.work.ask(call.node, call.find(PROMPTS), params.ai_service, params.options, is_streaming=params.is_streaming)
    return {params.output: answer}


def _list_prompt(_params: object) -> tuple[str, ...]:
    return (PROMPTS,)


TYPES: Final[tuple[AnyRuneType, ...]] = (
    RuneType[PromptParams](
        name="prompt",
        summary="Adds a message to the prompt, with {{variable}} filled in.",
        params=PromptParams,
        perform=_add_prompt,
        example={"role": "User", "template": "Summarize these notes in three sentences:\n{{notes}}"},
        list_reads=lambda params: list_placeholders(params.template),
        list_produces=_list_prompt,
        prepares=True,
    ),
    RuneType[AiParams](
        name="ai",
        summary="Asks a model with the prompt that the runes before it have built.",
        params=AiParams,
        perform=_ask,
        example={"aiService": "tool", "output": "summary"},
        list_consumes=_list_prompt,
        list_produces=lambda params: (params.output,),
    ),
)
