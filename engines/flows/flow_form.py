"""The form of a flow, made of a document, and back (S002-49…56, S002-A12).

What was not changed, and what the form does not know, stays in the document as it was.
"""

import operator
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Final, Literal, TypeVar

from bot.console.definitions.form.fields import FieldRefused, Kind, parse_text, show_value
from engines.flows.core.definition import MOST_STEPS, USUAL_DAYS, USUAL_LIMIT, USUAL_VERSIONS
from orchestrator.documents.changing import ABSENT, PlaceGone, find_value, remove_value, set_value
from orchestrator.domain.finding import Path

Section = Literal["", "start", "shared", "memory", "budget", "result", "where", "more"]
""""" for the head of its group."""
Offer = Literal["", "agents", "steps", "types", "modes", "scopes"]
_PLACE: Final = "place"
YEAR: Final = 31_536_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    path: Path
    kind: Kind
    least: float | None = None
    most: float | None = None
    usual: str = ""
    offer: Offer = ""
    section: Section = ""
    is_required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    path: Path
    part: type["Part"]
    section: Section = ""


def _place(*path: str, kind: Kind = "line", **more: float | str | bool) -> str:
    return field(default="", metadata={_PLACE: Entry(path=path, kind=kind, **more)})  # type: ignore[arg-type]  # as Entry has them


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of the form, which stands for an object of the document."""

    base: object = None
    """What the part was made of; it keeps what the form does not know."""


P = TypeVar("P", bound=Part)


def _list_of(part: type[P], *path: str, section: Section = "") -> tuple[P, ...]:
    return field(default=(), metadata={_PLACE: Items(path=path, part=part, section=section)})


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterForm(Part):
    name: str = _place("name", is_required=True)
    type: str = _place("type", kind="choice", usual="string", offer="types")
    required: str = _place("required", kind="boolean", usual="true")
    description: str = _place("description")
    default: str = _place("default", kind="any")
    choices: str = _place("choices", kind="json")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelForm(Part):
    id: str = _place("id", is_required=True)
    versions: str = _place("retentionVersions", kind="integer", least=1, most=1000, usual=str(USUAL_VERSIONS))
    days: str = _place("retentionDays", kind="integer", least=1, most=3650, usual=str(USUAL_DAYS))
    scope: str = _place("scope", kind="choice", usual="run", offer="scopes")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadForm(Part):
    channel: str = _place("channel", is_required=True)
    limit: str = _place("limit", kind="integer", usual=str(USUAL_LIMIT))


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteForm(Part):
    channel: str = _place("channel", is_required=True)
    mode: str = _place("mode", kind="choice", usual="AGENT_OUTPUT", offer="modes")
    payload: str = _place("payload", kind="json")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepForm(Part):
    id: str = _place("id", is_required=True)
    name: str = _place("name")
    agent: str = _place("agentVersionId", kind="choice", offer="agents", is_required=True)
    prompt: str = _place("prompt", kind="text")
    next: str = _place("transitions", "onSuccess", "next", kind="choice", offer="steps", section="where")
    complete: str = _place("transitions", "onSuccess", "complete", kind="boolean", section="where")
    next_after_failure: str = _place("transitions", "onFailure", "next", kind="choice", offer="steps", section="where")
    fail: str = _place("transitions", "onFailure", "fail", kind="boolean", section="where")
    attempts: str = _place("maxAttempts", kind="integer", most=20, usual="1", section="where")
    reads: tuple[ReadForm, ...] = _list_of(ReadForm, "memoryReads", section="memory")
    writes: tuple[WriteForm, ...] = _list_of(WriteForm, "memoryWrites", section="memory")
    temperature: str = _place("overrides", "temperature", kind="number", least=0, most=2, section="more")
    top_p: str = _place("overrides", "topP", kind="number", least=0, most=1, section="more")
    max_tokens: str = _place("overrides", "maxTokens", kind="integer", least=1, most=1_000_000, section="more")
    transitions: str = _place("transitions", kind="json", section="more")
    """As JSON; a way that is changed on its own counts more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TitleForm(Part):
    name: str = _place("name", is_required=True)
    title: str = _place("title", is_required=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowForm(Part):
    flow_id: str = _place("flowId", is_required=True)
    title: str = _place("metadata", "title")
    description: str = _place("metadata", "description", kind="text")
    tags: str = _place("metadata", "tags", kind="words")
    start_step: str = _place("startStepId", kind="choice", offer="steps")
    ui: str = _place("triggers", "ui", kind="boolean", usual="true", section="start")
    api: str = _place("triggers", "api", kind="boolean", usual="true", section="start")
    parameters: tuple[ParameterForm, ...] = _list_of(ParameterForm, "launchParameters", section="start")
    steps: tuple[StepForm, ...] = _list_of(StepForm, "steps")
    channels: tuple[ChannelForm, ...] = _list_of(ChannelForm, "memory", "sharedChannels", section="memory")
    context: str = _place("defaults", "context", kind="json", section="shared")
    temperature: str = _place("defaults", "overrides", "options", "temperature", kind="number", least=0, most=2, section="shared")
    top_p: str = _place("defaults", "overrides", "options", "topP", kind="number", least=0, most=1, section="shared")
    max_tokens: str = _place("defaults", "overrides", "options", "maxTokens", kind="integer", least=1, most=1_000_000, section="shared")
    most_steps: str = _place("budget", "maxSteps", kind="integer", least=1, most=100, section="budget")
    most_tokens: str = _place("budget", "maxTokens", kind="integer", least=1, most=1_000_000_000, section="budget")
    most_cost: str = _place("budget", "maxCost", kind="number", least=0, most=1e12, section="budget")
    most_seconds: str = _place("budget", "maxSeconds", kind="integer", least=1, most=YEAR, section="budget")
    result: str = _place("outputs", "resultPayload", kind="json", section="result")
    summary: str = _place("outputs", "summaryFields", kind="words", section="result")
    titles: tuple[TitleForm, ...] = _list_of(TitleForm, "outputs", "titles", section="result")


@dataclass(frozen=True, slots=True)
class FieldMistake:
    path: Path
    refusal: FieldRefused


@dataclass(frozen=True, slots=True)
class BuiltFlow:
    """A document made of a form; unfit texts leave what the form was made of."""

    document: object
    mistakes: tuple[FieldMistake, ...]


def read_flow_form(document: object) -> FlowForm:
    """Read also a draft with any content."""
    return _read_part(FlowForm, document)


def build_flow_definition(form: FlowForm) -> BuiltFlow:
    """Check numbers and JSON once more (S002-56)."""
    mistakes: list[FieldMistake] = []
    document = _build_part(form, (), mistakes)
    return BuiltFlow(document, tuple(mistakes))


def enter_text(form: P, path: Path, typed: str) -> P:
    """`path` is that of the value. Raises PlaceGone if there is no such field."""
    for name, place in list_places(form):
        if isinstance(place, Entry):
            if place.path == path:
                return replace(form, **{name: typed})
            continue
        size = len(place.path)
        items: tuple[Part, ...] = getattr(form, name)
        if path[:size] == place.path and len(path) > size:
            index = path[size]
            if not isinstance(index, int) or not 0 <= index < len(items):
                raise PlaceGone(path)
            return replace(form, **{name: (*items[:index], enter_text(items[index], path[size + 1 :], typed), *items[index + 1 :])})
    raise PlaceGone(path)


def list_places(part: Part | type[Part]) -> Iterator[tuple[str, Entry | Items]]:
    for form_field in fields(part):
        if _PLACE in form_field.metadata:
            yield form_field.name, form_field.metadata[_PLACE]


def _read_part(part: type[P], base: object) -> P:
    values: dict[str, str | tuple[Part, ...]] = {}
    for name, place in list_places(part):
        present = find_value(base, place.path)
        if isinstance(place, Entry):
            values[name] = show_value(place.kind, present)
        else:
            values[name] = tuple(_read_part(place.part, one) for one in present) if isinstance(present, list) else ()
    return part(base=base, **values)


def _build_part(form: Part, at: Path, mistakes: list[FieldMistake]) -> object:
    document = form.base
    for name, place in list_places(form):
        if isinstance(place, Items):
            document = _put_items(document, place, getattr(form, name), at, mistakes)
            continue
        typed: str = getattr(form, name)
        if typed == show_value(place.kind, find_value(form.base, place.path)):
            continue
        try:
            value = parse_text(place.kind, typed, least=place.least, most=place.most)
        except FieldRefused as refusal:
            mistakes.append(FieldMistake((*at, *place.path), refusal))
            continue
        document = remove_value(document, place.path) if value is ABSENT else set_value(document, place.path, value)
    return document


def _put_items(document: object, place: Items, items: tuple[Part, ...], at: Path, mistakes: list[FieldMistake]) -> object:
    present = find_value(document, place.path)
    if not items and not isinstance(present, list):
        return document
    built = [_build_part(one, (*at, *place.path, index), mistakes) for index, one in enumerate(items)]
    is_same = isinstance(present, list) and len(built) == len(present) and all(map(operator.is_, built, present))
    return document if is_same else set_value(document, place.path, built)


def find_new_step_id(form: FlowForm) -> str:
    step_ids = {step.id for step in form.steps}
    return next(name for number in range(len(step_ids) + 1, MOST_STEPS * 2 + 2) if (name := f"step{number}") not in step_ids)
