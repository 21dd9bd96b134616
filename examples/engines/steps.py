"""An example of an engine of runs: a list of steps, done one after another.

A definition is {"steps": [...]}; each step has a unique `name`, which people read if it fails, and one of: `say` (a text), `ask` (a
text, with `options`, or with what it `takes`: text, contact, photo, document; without both an answer in words), `model` (a prompt),
`write` (a method with `params`; its `kind` if it is no call of the portal: telegram, file, http, mongo, schedule), `later` (hours from now:
a moment for a reminder), `sleep` (seconds), `child` (the key of a definition of this engine, or of another `engine`), `turn` (a request
for the CRM agent). An option is a value, or {"label": the text of its button, "value": …}. In texts and params "{name}" stands for what
the step of that name gave, "{name.part}" for a part of it, such as the phone of a contact, and "{text}" for what was typed after the
command.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any, Final

from orchestrator.domain.outputs import build_reply
from orchestrator.domain.taint import Origins, Value, join_origins
from orchestrator.engines.runs import Ask, Option, RunContext, RunEffect, RunFailed, RunModelRequest, RunResult

_PLACE: Final = re.compile(r"\{([^\W\d_][\w ]*(?:\.[a-z_]+)?)\}")
_DEFINITION: Final[Origins] = frozenset({"definition"})


class StepsEngine:
    """Does the steps of a definition in order."""

    replay = 1
    replays = frozenset({1})

    async def run(self, ctx: RunContext) -> RunResult:
        """Do the steps, and return what each of them gave, by name."""
        given: dict[str, Value] = dict(ctx.run.args)
        for step in ctx.run.definition.document["steps"]:
            given[step["name"]] = await _do_step(step, given, ctx)
        made = {step["name"]: given[step["name"]] for step in ctx.run.definition.document["steps"]}
        result = Value({name: one.data for name, one in made.items()}, join_origins(made.values()))
        return RunResult(value=result, reply=None if ctx.run.parent else build_reply(text="Готово."))


def list_children(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (engine, key) of the definitions that the steps of this one start."""
    return [(step.get("engine", "steps"), step["child"]) for step in document["steps"] if "child" in step]


async def _do_step(step: Mapping[str, Any], given: Mapping[str, Value], ctx: RunContext) -> Value:
    name = step["name"]
    match step:
        case {"say": text}:
            told = _fill(text, given)
            await ctx.say(build_reply(text=str(told.data)), key=name)
            return told
        case {"ask": text}:
            options = tuple(_build_option(one) for one in step.get("options", ()))
            timeout = timedelta(seconds=step["timeout"]) if "timeout" in step else None
            ask = Ask(
                text=str(_fill(text, given).data),
                options=options,
                takes=frozenset(step.get("takes", () if options else ("text",))),
                timeout=timeout,
            )
            return (await ctx.wait_input(name, ask)).value
        case {"model": prompt}:
            asked = _fill(prompt, given)
            request = RunModelRequest(messages=[{"role": "user", "content": str(asked.data)}], origins=asked.origins)
            return await ctx.ask_model(name, request)
        case {"write": str(method)}:
            return await _write(method, step, given, ctx)
        case {"later": hours}:
            return await ctx.memo(name, partial(_calculate_moment, ctx, hours), origins=_DEFINITION)
        case {"sleep": seconds}:
            await ctx.sleep(name, ctx.now + timedelta(seconds=seconds))
            return Value(None)
        case {"turn": text}:
            ended = await ctx.child(name, "crm_agent", "", {"text": _fill(text, given)})
            return ended.value.get("text")
        case {"child": definition}:
            ended = await ctx.child(name, step.get("engine", "steps"), definition, {"text": given.get("text", Value(""))})
            if ended.status != "done":
                raise RunFailed("run-step-failed", ended.code, step=name).explain(ended)
            return ended.value
    raise RunFailed("run-step-unknown", f"step {name} says nothing that can be done", step=name)


async def _write(method: str, step: Mapping[str, Any], given: Mapping[str, Value], ctx: RunContext) -> Value:
    """Submit an effect; return what it created, or how it ended. Raises RunFailed if it is refused."""
    params = _fill_params(step.get("params", {}), given)
    outcome = await ctx.submit(step["name"], RunEffect(kind=step.get("kind", "bitrix"), method=method, params=params))
    if outcome.status == "refused" and not outcome.already:
        raise RunFailed("run-step-refused", outcome.detail, step=step["name"])
    return Value(outcome.created or ("already" if outcome.already else outcome.status), frozenset({"label"}))


async def _calculate_moment(ctx: RunContext, hours: float) -> str:
    return (ctx.now + timedelta(hours=hours)).isoformat(timespec="minutes")


def _build_option(given: Any) -> Option:
    if isinstance(given, Mapping):
        return Option(label=str(given["label"]), value=given["value"])
    return Option(label=str(given), value=given)


def _find_value(place: str, given: Mapping[str, Value]) -> Value | None:
    """Return the value that a place stands for, None if no step gave it."""
    name, _, part = place.partition(".")
    if name not in given or not part:
        return given.get(name)
    whole = given[name]
    return whole.get(part) if isinstance(whole.data, Mapping) and part in whole.data else None


def _fill(text: str, given: Mapping[str, Value]) -> Value:
    """Return the text with its places filled; it comes from the definition and from everywhere that the values come from."""
    values = {place: value for place in _PLACE.findall(text) if (value := _find_value(place, given)) is not None}
    filled = _PLACE.sub(lambda found: str(values[found[1]].data) if found[1] in values else found[0], text)
    return Value(filled, _DEFINITION | join_origins(values.values()))


def _fill_params(params: Any, given: Mapping[str, Value]) -> Any:
    """Return params with every text filled. A text that is nothing but one place becomes the value itself, with its type."""
    if isinstance(params, str):
        whole = _PLACE.fullmatch(params)
        value = _find_value(whole[1], given) if whole is not None else None
        return value if value is not None else _fill(params, given)
    if isinstance(params, Mapping):
        return {key: _fill_params(one, given) for key, one in params.items()}
    if isinstance(params, list):
        return [_fill_params(one, given) for one in params]
    return Value(params, _DEFINITION)
