"""Finds what a run is started with: values given or asked for (S002-20)."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.domain.taint import Origins, Value, combine
from orchestrator.engines.runs import Ask, Option, RunContext, RunFailed
from orchestrator.engines.shared.declared import LaunchParameter, Triggers
from orchestrator.engines.shared.parameters import Problem, fits_type, read_parameters
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import Locale
from orchestrator.language.typed_numbers import AmbiguousNumber, UnaskedCurrency, read_typed_number
from state.canonical import FOREIGN_JSON, check

PARAMETERS: Final = "parameters"
CONTEXT: Final = "sharedContext"
TEXT: Final = "text"
"""What was typed behind the command; it answers the first question."""
MOST_TRIES: Final = 5
NONE: Final = "none"
_MISTAKES: Final[Mapping[Problem, str]] = {
    "missing": "{name} is missing, it must be of the type {expected}",
    "unknown": "there is no parameter {name}; there is {expected}",
    "type": "{name} must be of the type {expected}",
    "choice": "{name} must be one of {expected}",
}
_AUTHOR: Final[Origins] = frozenset({"definition"})


async def find_parameters(ctx: RunContext, declared: Sequence[LaunchParameter], *, first: str | None = None) -> Value:
    """`first` is read by the engine itself. Raises RunFailed, RunSuspended."""
    if PARAMETERS not in ctx.run.args:
        return await _ask_all(ctx, declared, takes_text=first is None)
    parameters = read_object(ctx, PARAMETERS)
    return Value(_check(declared, {name: one for name, one in parameters.data.items() if name != first}), parameters.origins)


def check_trigger(ctx: RunContext, triggers: Triggers) -> None:
    """Raise RunFailed if the triggers forbid this start (S002-17); only programs give parameters."""
    is_api = PARAMETERS in ctx.run.args
    if not ctx.run.parent and not (triggers.api if is_api else triggers.ui):
        raise RunFailed("flow-not-from-programs" if is_api else "flow-not-in-chats", "the triggers do not allow this start")


def check_names(ctx: RunContext, known: Collection[str]) -> None:
    """Raise RunFailed for other names, which nobody would hear of."""
    unknown = ", ".join(name for name in ctx.run.args if name not in known)
    if unknown:
        raise RunFailed("flow-start-unknown", f"args: {unknown}: parameters stand inside of args.{PARAMETERS}", names=unknown)


def read_object(ctx: RunContext, name: str) -> Value:
    """{} without one. Raises RunFailed for anything but an object."""
    arg = ctx.run.args.get(name, Value({}, _AUTHOR))
    if not isinstance(arg.data, Mapping):
        raise RunFailed("flow-start-unfit", f"args.{name} must be an object", name=name)
    return arg


def _check(declared: Sequence[LaunchParameter], start_values: Mapping[str, Any]) -> Mapping[str, Any]:
    read, mistakes = read_parameters(declared, start_values)
    if mistakes:
        first = mistakes[0]
        detail = "; ".join(_MISTAKES[mistake.problem].format(name=mistake.name, expected=mistake.expected or NONE) for mistake in mistakes)
        raise RunFailed("flow-parameter-unfit", detail, name=first.name, problem=first.problem, expected=first.expected or NONE)
    return read


async def _ask_all(ctx: RunContext, declared: Sequence[LaunchParameter], *, takes_text: bool) -> Value:
    """`takes_text`: what was typed behind the command is the first answer."""
    typed = ctx.run.args.get(TEXT, Value("", _AUTHOR)) if takes_text else Value("", _AUTHOR)
    answers: dict[str, Value] = {}
    if declared and str(typed.data).strip() and (read := read_answer(declared[0], str(typed.data), ctx.actor.locale)) is not None:
        answers[declared[0].name] = Value(read, typed.origins)
    first = index = len(answers)
    tries: Counter[str] = Counter()
    while index < len(declared):
        answer = await _ask(ctx, declared[index], index, tries, can_go_back=index > first)
        if answer is None:  # the one before is asked anew
            index -= 1
        else:
            answers[declared[index].name] = answer
            index += 1
    present = {name: answer for name, answer in answers.items() if answer.data is not None}
    return combine(lambda *data: dict(zip(present, data, strict=True)), *present.values()) if present else Value({}, _AUTHOR)


def _name_node(name: str, index: int) -> str:
    is_like_node = name.isprintable() and all(part.strip() for part in name.split("/"))
    return f"launch/{name}" if is_like_node and not name.isdecimal() and not name.startswith("#") else f"launch/#{index + 1}"


async def _ask(ctx: RunContext, parameter: LaunchParameter, index: int, tries: Counter[str], *, can_go_back: bool) -> Value | None:
    """Data is None for a left out parameter; None goes back. Raises RunFailed after `MOST_TRIES`."""
    node = _name_node(parameter.name, index)
    question = Ask(
        text=parameter.description.strip() or parameter.name,
        options=build_options(parameter, ctx.actor.locale),
        takes=frozenset() if parameter.choices else frozenset({"text"}),
        can_go_back=can_go_back,
    )
    for tried in range(MOST_TRIES):
        tries[node] += 1
        number = tries[node]
        heard = await ctx.wait_input(f"{node}/{number}", replace(question, is_again=tried > 0))
        if heard.kind == "back":
            return None
        if heard.kind == "option":
            return heard.value.map(lambda chosen: parameter.default if chosen is None else chosen)
        text, unfit = str(heard.value.data), f"{node}/{number}/unfit"
        read = read_answer(parameter, text, ctx.actor.locale)
        if read is not None and ctx.find_state(unfit, is_message=True) != "finished":  # a program that read fewer numbers has refused it
            return Value(read, heard.value.origins)
        await ctx.say(build_reply(explain_mistake(parameter, text, ctx.actor.locale)), key=unfit)
    raise RunFailed(
        "flow-parameter-unfit", f"{parameter.name}: no answer fitted", name=parameter.name, problem="type", expected=parameter.type
    )


def explain_mistake(launch_parameter: LaunchParameter, text: str, locale: Locale = "ru") -> Notice:
    match _read_number(launch_parameter, text.strip(), locale) if launch_parameter.type == "number" else None:
        case AmbiguousNumber(thousands, decimals):
            return Notice(code="answer-number-ambiguous", args={"thousands": thousands, "decimals": decimals})
        case UnaskedCurrency(currency, number):
            return Notice(code="answer-number-currency", args={"currency": currency, "number": number})
        case _:
            return Notice(code="flow-answer-unfit", args={"type": launch_parameter.type})


def _read_number(parameter: LaunchParameter, typed: str, locale: Locale) -> int | float | AmbiguousNumber | UnaskedCurrency | None:
    return read_typed_number(typed, question=f"{parameter.description} {parameter.name}", locale=locale)


def build_options(launch_parameter: LaunchParameter, locale: Locale) -> tuple[Option, ...]:
    """Choices, yes and no, the default, a way to leave it out."""
    options = [Option(label=str(choice), value=choice) for choice in launch_parameter.choices]
    if launch_parameter.type == "boolean" and not options:
        options = [_build_word("yes", locale, value=True), _build_word("no", locale, value=False)]
    if launch_parameter.default is not None and not options:
        options.append(Option(label=str(launch_parameter.default), value=launch_parameter.default))
    if not launch_parameter.required and launch_parameter.default is None:
        options.append(_build_word("skip", locale, value=None))
    return tuple(options)


def _build_word(word: str, locale: Locale, *, value: bool | None) -> Option:
    return Option(label=load_lexicon("runs").read_text("buttons", word, locale), value=value)


def read_answer(parameter: LaunchParameter, text: str, locale: Locale = "ru") -> Any:
    """None if it is no such value; a list is lines or JSON."""
    typed = text.strip()
    match parameter.type:
        case "string":
            value: Any = typed or None
        case "number":
            value = _read_number(parameter, typed, locale)
        case "boolean":
            value = _read_boolean(typed)
        case "array" if not typed.startswith("["):
            value = [line.strip(" -—•\t") for line in typed.splitlines() if line.strip(" -—•\t")] or None
        case _:
            value = _read_json(typed)
    return value if fits_type(value, parameter.type) and (not parameter.choices or value in parameter.choices) else None


def _read_boolean(text: str) -> Any:
    """The words on the buttons in any language, otherwise JSON."""
    lexicon = load_lexicon("runs")
    for word, value in (("yes", True), ("no", False)):
        if text.casefold() in {one.casefold() for one in lexicon.read_table("buttons", word).values()}:
            return value
    return _read_json(text)


def _read_json(text: str) -> Any:
    try:
        decoded = FOREIGN_JSON.decode(text)
        check(decoded)
    except (ValueError, RecursionError):
        return None
    return decoded
