"""The steps that talk with the person of the run (S000-23…29, S000-X18)."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field

from engines.scenarios.core.answers import LONGEST_ANSWER, UNCLEAR, Expected, InputType
from engines.scenarios.core.day_answers import DAYS, Bounds, Mistake, parse_bound
from engines.scenarios.core.steering import BACK, CANCEL
from engines.scenarios.core.step_types import (
    AUTHOR,
    DONE,
    Raw,
    StepCall,
    StepMistake,
    StepParams,
    StepResult,
    StepType,
    VariableName,
    Words,
    is_later,
    list_part_origins,
)
from orchestrator.domain.outputs import Notice, Reply, build_reply
from orchestrator.domain.taint import Value, split_values
from orchestrator.engines.runs import Ask, Option, Takes
from orchestrator.engines.shared.block_marks import escape_marks, escape_value, join_pieces
from orchestrator.engines.shared.rendering import build_text_reply
from orchestrator.expressions.placeholders import SCENARIO, Template, format_value
from orchestrator.language.text import Locale

_MARK: Final = re.compile(r"BLOCK[:\]]")


def build_shown_reply(call: StepCall[Any], text: str, *, below: str = "") -> Reply:
    """Show `text`, the filled parameter, and `below` it a text that draws nothing."""
    if _MARK.search(text):
        drawn = call.variables.with_blocks
        values = call.spoken or call.variables.values
        names = {name: value if name in drawn else escape_value(value) for name, value in values.items()}
        text = format_value(split_values(Template(call.step.params["text"], SCENARIO).fill(names, join_pieces).data)[0])
    return build_text_reply(text + escape_marks(below))


MOST_TRIES: Final = 10
YEAR: Final = 366 * 86_400
_BOUNDS: Final = ("choices", "regex", "min_length", "max_length", "minimum", "maximum", "earliest", "latest", "tries", "only_buttons")
DEFAULT: Final = "default"


class MessageParams(StepParams):
    """What is said."""

    text: Words = Field(description="The text.")


class Button(StepParams):
    """A button under a question."""

    text: Words = Field(min_length=1, max_length=100, description="What stands on it.")
    value: Any = Field(None, description="What the variable gets; without it the text.")

    def to_option(self) -> Option:
        return Option(label=self.text, value=self.value if "value" in self.model_fields_set else self.text)


def _expand_button(raw: object) -> object:
    return {"text": raw} if isinstance(raw, str) else raw


class InputParams(StepParams):
    """What is asked, and what counts as an answer."""

    prompt: Words = Field(min_length=1, description="The question.")
    input_variable: VariableName = Field("", description="The variable that gets the answer.")
    type: InputType = Field(
        "text",
        description="What the answer must be: a number and a sum become numbers, a day 2026-12-31 and a moment 2026-12-31T15:00:00+03:00.",
    )
    buttons: list[Annotated[Button, BeforeValidator(_expand_button, json_schema_input_type=str | Button)]] = Field(
        default_factory=list, max_length=100, description="Answers to press: texts, or {text, value}."
    )
    only_buttons: bool = Field(False, description="Whether nothing may be typed.")
    choices: list[str] = Field(default_factory=list, description="The answers in words of which one is taken, without regard to case.")
    regex: str = Field("", max_length=500, description="A regular expression that the whole answer matches.")
    min_length: int = Field(0, ge=0, description="The fewest characters of a text.")
    max_length: int = Field(LONGEST_ANSWER, ge=1, le=LONGEST_ANSWER, description="The most characters of a text.")
    minimum: float | None = Field(None, description="The least number.")
    maximum: float | None = Field(None, description="The greatest number.")
    earliest: Words = Field("", description="The first day or moment, such as 2026-12-31 or {today}.")
    latest: Words = Field("", description="The last day or moment.")
    retry_text: Words = Field("", description="What is said if an answer does not fit, in place of the program's own sentence.")
    tries: int = Field(3, ge=1, le=MOST_TRIES, description="How often it is asked; afterwards the run fails, or goes to on_invalid.")
    on_invalid: str = Field("", description="The id of the step after the last answer that does not fit.")
    timeout: float | None = Field(None, gt=0, le=YEAR, description="After how many seconds without an answer the run goes on.")
    on_timeout: str = Field("", description="The id of the step after that.")
    next_step_map: dict[str, str] = Field(default_factory=dict, description="The ids of steps by answer; default is for all others.")

    def build_expected(self, locale: Locale, zone: str) -> Expected:
        """Raises ValueError for a bound that is no day."""
        return Expected(
            type=self.type,
            choices=self.choices,
            pattern=self.regex,
            min_length=self.min_length,
            max_length=self.max_length,
            minimum=self.minimum,
            maximum=self.maximum,
            question=self.prompt,
            locale=locale,
            zone=zone,
            bounds=Bounds(earliest=parse_bound(self.earliest), latest=parse_bound(self.latest)),
        )


async def _say(call: StepCall[MessageParams]) -> StepResult:
    if call.params.text.strip():
        await call.ctx.say(build_shown_reply(call, call.params.text), key=call.node)
    return DONE


async def _ask(call: StepCall[InputParams]) -> StepResult:
    """Raises RunFailed after the last try, unless the author names a step for that. A retry has all tries again."""
    params, expected = call.params, _build_expected(call)
    keyboard = call.surroundings.keyboard
    steering = call.surroundings.steering
    question = replace(
        _build_question(call, expected, keyboard.options),
        controls=steering.controls,
        heading=steering.heading,
        can_go_back=steering.can_go_back,
    )
    keyboard.options = ()
    whence = call.find_origins(*_BOUNDS)
    number = tried = 0
    while tried < params.tries:
        number += 1
        heard = await call.ctx.wait_input(f"{call.node}/{number}", replace(question, is_again=number > 1))
        if heard.kind == "timeout":
            call.variables.note_decision(Value(None, call.find_origins("timeout")))
            return _go_on(call, Value(None, AUTHOR), params.on_timeout)
        if heard.kind == "back":
            return StepResult(goes_back=True)
        if heard.kind == "option" and heard.value.data in (BACK.value, CANCEL.value):
            return StepResult(goes_back=heard.value.data == BACK.value, cancels=heard.value.data == CANCEL.value)
        said_at = call.ctx.find_time(f"{call.node}/{number}")  # not the present: it is read again when the run goes on
        read = expected.read(heard.kind, heard.value.data, said_at=said_at)
        if not isinstance(read, Mistake) and not _was_refused(call, number):
            value = Value(read, heard.value.origins)
            if params.next_step_map:
                call.variables.note_decision(value)
            return _go_on(call, value, _find_next(params, value))
        whence |= heard.value.origins  # other words might have fitted
        await _refuse_answer(call, read if isinstance(read, Mistake) else None, number)
        tried += bool(params.on_invalid) or not call.ctx.is_before_retry(f"{call.node}/{number}")
    if params.on_invalid:
        call.variables.note_decision(Value(None, whence))
        return _go_on(call, Value(None, AUTHOR), params.on_invalid)
    raise call.fail("scenario-input-failed", f"no answer fitted in {params.tries} tries", tries=params.tries)


def _build_expected(call: StepCall[InputParams]) -> Expected:
    """Raises RunFailed."""
    try:
        return call.params.build_expected(call.ctx.actor.locale, call.ctx.actor.time_zone)
    except ValueError:
        raise call.fail("scenario-value-unfit", "earliest or latest is no day", name="earliest, latest") from None


def _build_question(call: StepCall[InputParams], expected: Expected, announced: tuple[Option, ...]) -> Ask:
    params, origins = call.params, list_part_origins(call.filled.get("buttons"), "value")
    options = tuple(replace(one.to_option(), origins=whence) for one, whence in zip(params.buttons, origins, strict=True)) or announced
    takes: frozenset[Takes] = frozenset() if params.only_buttons and options else expected.takes
    timeout = timedelta(seconds=params.timeout) if params.timeout is not None else None
    words = frozenset((*params.choices, *(answer for answer in params.next_step_map if answer != DEFAULT)))
    return Ask(text=params.prompt, options=options, takes=takes, words=words, timeout=timeout)


def _was_refused(call: StepCall[InputParams], number: int) -> bool:
    """A program that read fewer answers may have refused it: the run goes on as it went."""
    return call.ctx.find_state(f"{call.node}/{number}/refused", is_message=True) == "finished"


async def _refuse_answer(call: StepCall[InputParams], mistake: Mistake | None, number: int) -> None:
    """The program's sentence follows the author's words where they cannot say which number is meant."""
    own = call.params.retry_text
    notices = () if mistake is None or (own and mistake.code not in UNCLEAR) else (Notice(code=mistake.code, args=mistake.args),)
    reply = build_reply(*notices, text=own)
    await call.ctx.say(reply, key=f"{call.node}/{number}/refused")


def _go_on(call: StepCall[InputParams], value: Value, next_step: str) -> StepResult:
    name = call.params.input_variable
    return StepResult(changes={name: value} if name else {}, next_step=next_step or None)


def _find_next(params: InputParams, value: Value) -> str:
    """ "" for the usual one (S000-X18)."""
    ways = params.next_step_map
    return ways.get(format_value(value.data), ways.get(DEFAULT, ""))


def _list_input_outputs(raw: Raw) -> Iterable[str]:
    name = raw.get("input_variable")
    return (name.split(".")[0],) if isinstance(name, str) and name else ()


def _list_input_targets(raw: Raw) -> Iterable[tuple[tuple[str | int, ...], str]]:
    for name in ("on_invalid", "on_timeout"):
        if isinstance(raw.get(name), str) and raw[name]:
            yield (name,), raw[name]
    ways = raw.get("next_step_map")
    if isinstance(ways, Mapping):
        for answer, target in ways.items():
            if isinstance(target, str):
                yield ("next_step_map", answer), target


def _can_input_continue(raw: Raw) -> bool:
    ways = raw.get("next_step_map")
    has_all = isinstance(ways, Mapping) and DEFAULT in ways
    return not has_all or (raw.get("timeout") is not None and not raw.get("on_timeout"))


MESSAGE: Final = StepType(
    name="message",
    summary="Says something in the chat of the run.",
    params=MessageParams,
    perform=_say,
    example={"params": {"text": "Noted: {client}."}},
    spoken=frozenset({"text"}),
)


def _list_input_mistakes(raw: Raw) -> Iterator[StepMistake]:
    for least, most in (("minimum", "maximum"), ("min_length", "max_length")):
        low, high = raw.get(least), raw.get(most, LONGEST_ANSWER if most == "max_length" else None)
        is_number = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (low, high))
        if is_number and low > high:
            yield StepMistake(path=(least,), code="finding-bounds-crossed", args={"least": least, "most": most})
    yield from _list_day_mistakes(raw)
    yield from _list_button_mistakes(raw)


def _list_button_mistakes(raw: Raw) -> Iterator[StepMistake]:
    """Two buttons that read alike, and ways by answers that nobody can give."""
    buttons, choices, ways = raw.get("buttons"), raw.get("choices"), raw.get("next_step_map")
    answers: list[str] = []
    labels: set[str] = set()
    for index, button in enumerate(buttons if isinstance(buttons, list) else ()):
        expanded = _expand_button(button)
        label = expanded.get("text") if isinstance(expanded, Mapping) else None
        value = expanded.get("value", label) if isinstance(expanded, Mapping) else None
        if not isinstance(label, str) or is_later(label) or is_later(value):
            return
        if (folded := label.strip().casefold()) in labels:
            yield StepMistake(path=("buttons", index), code="finding-buttons-equal", args={"name": label})
        labels.add(folded)
        answers.append(format_value(value))
    answers += [one for one in choices if isinstance(one, str)] if isinstance(choices, list) else []
    is_closed = bool(labels and raw.get("only_buttons") is True) or (bool(choices) and raw.get("type", "text") == "text")
    alike = {one.casefold() for one in answers}
    for answer in ways if isinstance(ways, Mapping) else ():
        if answer not in (*answers, DEFAULT) and (is_closed or str(answer).casefold() in alike):
            yield StepMistake(path=("next_step_map", answer), code="finding-answer-never", args={"name": str(answer)}, severity="warning")


def _list_day_mistakes(raw: Raw) -> Iterator[StepMistake]:
    kind = raw.get("type", "text")
    useless = ("minimum", "maximum") if kind in DAYS else ("earliest", "latest")
    for name in useless:
        if raw.get(name) not in (None, "") and not is_later(kind):
            yield StepMistake(path=(name,), code="finding-bound-useless", args={"name": name, "type": str(kind)}, severity="warning")
    bounds: list[date] = []
    for name in ("earliest", "latest") if kind in DAYS else ():
        text = raw.get(name)
        if not isinstance(text, str) or is_later(text):
            continue
        try:
            bound = parse_bound(text)
        except ValueError:
            yield StepMistake(path=(name,), code="finding-bound-day", args={"name": name})
            continue
        bounds += [bound] if bound is not None else []
    if [type(one) for one in bounds] in ([date, date], [datetime, datetime]) and bounds[0] > bounds[1]:
        yield StepMistake(path=("earliest",), code="finding-bounds-crossed", args={"least": "earliest", "most": "latest"})


INPUT: Final = StepType(
    name="input",
    summary="Asks the person and waits for the answer, also over restarts.",
    params=InputParams,
    perform=_ask,
    example={"params": {"prompt": "How large is the budget?", "input_variable": "budget", "type": "integer", "minimum": 1}},
    list_outputs=_list_input_outputs,
    list_mistakes=_list_input_mistakes,
    spoken=frozenset({"prompt", "retry_text"}),
    source="person",
    list_targets=_list_input_targets,
    unfilled=frozenset({"regex", "next_step_map", "on_invalid", "on_timeout"}),
    waits=True,
    asks=True,
    can_continue=_can_input_continue,
)
TYPES: Final = (MESSAGE, INPUT)
