"""The steps that ask a model, the documents, and the tool agent (S000-56, S000-57, S000-X12, S000-X13)."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Final, Literal

from pydantic import Field

from engines.scenarios.core.step_types import Raw, StepCall, StepMistake, StepParams, StepResult, StepType, VariableName, Words, list_named
from orchestrator.domain.models import ModelOptions
from orchestrator.domain.own_reads import read_documents
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import RunModelRequest
from orchestrator.engines.shared.model_json import ONLY_JSON, JsonUnreadable, check_required, read_model_json, tell_mistake
from state.stored import JsonObject

TOOL_AGENT: Final = "tool_agent"
JSON_WISH: Final = "Answer with JSON and nothing else: no words before or after it."


class LlmRequestParams(StepParams):
    """What the model is asked. Either a prompt or a list of messages."""

    prompt: Words = Field("", description="The question.")
    messages: list[JsonObject] = Field(default_factory=list, description="Messages as {role, content}, in place of a prompt.")
    system_prompt: Words = Field("", description="What the model is told about its part.")
    model: str = Field("", description="The name of a model of the settings; without it the variable llm_model, then the usual one.")
    temperature: float = Field(0.7, ge=0, le=2, description="How freely it writes.")
    max_tokens: int = Field(500, ge=1, le=32_000, description="The most tokens of its answer.")
    output: Literal["text", "json"] = Field("text", description="What the variable gets: the text, or the JSON data in it.")
    required: list[str] = Field(
        default_factory=list, max_length=50, description="What must be in the JSON and not null, such as client.name."
    )
    output_var: VariableName = Field("llm_result", min_length=1, description="The variable that gets the answer.")


class RagSearchParams(StepParams):
    """What is looked for in the company's documents."""

    query: Words = Field(description="The question.")
    collection_name: str = Field("default", description="Only `default`: the documents of the company.")
    top_k: int | None = Field(None, ge=1, le=20, description="How many passages an answer is made from.")
    output_var: VariableName = Field("rag_results", min_length=1, description="The variable that gets {answer, passages}, or {error}.")


class ToolAgentParams(StepParams):
    """What the tool agent is asked."""

    question: Words = Field(description="The question, as after /ask.")
    output_var: VariableName = Field("tool_result", min_length=1, description="The variable that gets its answer.")


async def _ask_model(call: StepCall[LlmRequestParams]) -> StepResult:
    """An answer is never paid twice. Raises RunFailed without an answer, or for an unfit one."""
    params = call.params
    wants_json = params.output == "json"
    part = "\n\n".join(one for one in (params.system_prompt, JSON_WISH if wants_json else "") if one)
    messages: list[JsonObject] = [{"role": "system", "content": part}] if part else []
    messages += params.messages or [{"role": "user", "content": params.prompt}]
    if not params.messages and not params.prompt.strip():
        raise call.fail("scenario-prompt-empty", "neither prompt nor messages say anything")
    service = params.model or _read_text(call.variables.values.get("llm_model"))
    options = ModelOptions(temperature=params.temperature, max_tokens=params.max_tokens, may_be_cut=True)
    request = RunModelRequest(messages=messages, service=service, options=options, origins=call.find_origins(), is_shown=not wants_json)
    answer = await call.ctx.ask_model(call.node, request)
    return StepResult(changes={params.output_var: await _read_json(call, request, answer) if wants_json else answer})


async def _read_json(call: StepCall[LlmRequestParams], request: RunModelRequest, answer: Value) -> Value:
    """Tell the model its mistake once, and once more after each retry of a person. Raises RunFailed."""
    for number in count():
        try:
            data = read_model_json(str(answer.data))
            check_required(data, call.params.required)
        except JsonUnreadable as error:
            if number and not call.ctx.is_before_retry(f"{call.node}/again{number}"):
                raise call.fail("scenario-answer-unfit", str(error)) from None
            complaint = tell_mistake(request, str(error), ONLY_JSON)
            corrected = replace(complaint, origins=request.origins | answer.origins)
            answer = await call.ctx.ask_model(f"{call.node}/again{number + 1}", corrected)
        else:
            return Value(data, answer.origins)
    raise AssertionError("count never ends")


def _read_text(value: Value | None) -> str:
    return value.data if value is not None and isinstance(value.data, str) else ""


async def _search(call: StepCall[RagSearchParams]) -> StepResult:
    """Ask with the role of the run's person. A failure becomes the value, and the run goes on (S000-X13)."""
    find, ctx, params = call.surroundings.find_documents, call.ctx, call.params
    read = partial(read_documents, find, params.query, person=ctx.run.owner, role=ctx.actor.role, top_k=params.top_k)
    return StepResult(changes={params.output_var: await ctx.memo(call.node, read, origins=frozenset({"document"}))})


async def _ask_tool_agent(call: StepCall[ToolAgentParams]) -> StepResult:
    ended = await call.ctx.child(call.node, TOOL_AGENT, "", {"text": Value(call.params.question, call.find_origins("question"))})
    if ended.status != "done":
        raise call.fail("scenario-child-failed", f"the tool agent ended as {ended.status} {ended.code}", kind=TOOL_AGENT)
    return StepResult(changes={call.params.output_var: ended.value.get("text")})


def _list_llm_mistakes(raw: Raw) -> Iterator[StepMistake]:
    """The model must be asked something, and only JSON can have required parts."""
    prompt = raw.get("prompt")
    if raw.get("required") and raw.get("output") != "json":
        yield StepMistake(path=("required",), code="finding-required-of-text")
    if not raw.get("messages") and (prompt is None or (isinstance(prompt, str) and not prompt.strip())):
        yield StepMistake(path=tuple(name for name in ("prompt",) if name in raw), code="finding-prompt-missing")


LLM_REQUEST: Final = StepType(
    name="llm_request",
    summary="Asks a language model.",
    params=LlmRequestParams,
    perform=_ask_model,
    example={"params": {"prompt": "Write one polite sentence to {client}.", "output_var": "letter"}},
    list_outputs=list_named("output_var", "llm_result"),
    list_mistakes=_list_llm_mistakes,
    gives_text=lambda raw: raw.get("output") != "json",
    source="model",
    is_action=True,
)
RAG_SEARCH: Final = StepType(
    name="rag_search",
    summary="Looks for an answer in the company's documents.",
    params=RagSearchParams,
    perform=_search,
    example={"params": {"query": "When do we call after an offer?", "output_var": "rules"}},
    list_outputs=list_named("output_var", "rag_results"),
    source="model",
    is_action=True,
    is_internal=True,
)
ASK_TOOL_AGENT: Final = StepType(
    name="tool_agent",
    summary="Asks the tool agent, as /ask does.",
    params=ToolAgentParams,
    perform=_ask_tool_agent,
    example={"params": {"question": "What does the regulation say about discounts?", "output_var": "found"}},
    list_outputs=list_named("output_var", "tool_result"),
    source="model",
    is_action=True,
    is_internal=True,
)
TYPES: Final = (LLM_REQUEST, RAG_SEARCH, ASK_TOOL_AGENT)
