from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final, Literal

from engines.scenarios.core.checks import TAKEN, TOLD_LATE, UNREACHED, check_scenario
from engines.scenarios.core.definition import Scenario, is_for_customers
from engines.scenarios.core.given_names import list_given_names
from engines.scenarios.core.plan import StepTypes, find_type
from engines.scenarios.core.step_types import AnyStepType
from orchestrator.definitions.calls import OPEN, mark_later
from orchestrator.definitions.kinds import AddressUse, CallUse, DefinitionKind, FilledField, GivenName, Reference, Write
from orchestrator.domain.finding import Path
from orchestrator.expressions.placeholders import SCENARIO, Template
from state.stored import JsonObject

KIND: Final = "scenario"


def build_kind(types: StepTypes) -> DefinitionKind:
    return DefinitionKind(
        name=KIND,
        check=lambda document: check_scenario(document, types),
        list_writes=partial(list_writes, types=types),
        list_filled=partial(list_filled, types=types),
        list_given=partial(list_given, types=types),
        list_calls=partial(list_calls, types=types),
        list_addresses=partial(list_addresses, types=types),
        list_needs=partial(list_needs, types=types),
        find_title=find_title,
        recent_errors=frozenset({TAKEN, UNREACHED, *TOLD_LATE}),
    )


def find_title(document: object) -> str:
    """ "" if it has no name."""
    return Scenario.model_validate(document).name


def list_writes(document: object, types: StepTypes) -> Sequence[Write] | None:
    """None if it cannot be told."""
    all_writes: list[Write] = []
    for kind, params in list_steps(document, types):
        writes = kind.list_writes(params)
        if writes is None:
            return None
        all_writes.extend(writes)
    return list(dict.fromkeys(all_writes))


def list_uses(document: object, types: StepTypes) -> list[tuple[str, str]]:
    """(engine, key) of each definition that the scenario may start."""
    return list(dict.fromkeys(use for kind, params in list_steps(document, types) for use in kind.list_uses(params)))


def list_needs(document: object, types: StepTypes) -> list[Reference]:
    """Definitions of other kinds to publish first."""
    return [
        Reference(("steps", index, "params"), engine, key)
        for index, kind, params in _find_steps(document, types)
        for engine, key in kind.list_uses(params)
        if engine != KIND
    ]


def list_calls(document: object, types: StepTypes) -> Iterator[CallUse]:
    """Of a draft, those that can be read."""
    for index, kind, params in _find_steps(document, types):
        base: Path = ("steps", index, "params")
        for call in kind.list_calls(params):
            yield CallUse(
                path=(*base, call.method_in),
                method=call.method,
                params=mark_later(call.params, SCENARIO) if isinstance(call.params, Mapping) else OPEN,
                locate=partial(_locate, (*base, call.params_in)),
            )


def _locate(base: Path, place: Path, _of_value: bool) -> Path:  # noqa: FBT001 - as `CallUse` says
    return (*base, *place)


def list_addresses(document: object, types: StepTypes) -> list[AddressUse]:
    return [
        AddressUse(("steps", index, "params", *path), address)
        for index, kind, params in _find_steps(document, types)
        for path, address in kind.list_addresses(params)
    ]


def list_filled(document: object, types: StepTypes) -> Iterator[FilledField]:
    steps = list(_find_steps(document, types))
    sources: dict[str, Literal["model", "person"]] = {}
    for _, kind, params in steps:
        if kind.source:
            sources.update(dict.fromkeys((name.split(".")[0] for name in kind.list_outputs(params)), kind.source))
    for index, kind, params in steps:
        filled = params.get(kind.call_at, {}) if kind.call_at else {name: one for name, one in params.items() if name not in kind.unfilled}
        base: Path = ("steps", index, "params", *((kind.call_at,) if kind.call_at else ()))
        for write in kind.list_writes(params) or ():
            for place in Template(filled, SCENARIO).placeholders:
                if (source := sources.get(place.name)) is not None:
                    yield FilledField((*base, *place.at), write, place.at, source)


def list_given(document: object, types: StepTypes) -> Iterator[GivenName]:
    steps = document["steps"] if isinstance(document, Mapping) else ()
    read_steps = [(index, steps[index], kind, params) for index, kind, params in _find_steps(document, types)]
    return list_given_names(read_steps, for_customers=is_for_customers(document))


def list_steps(document: object, types: StepTypes) -> list[tuple[AnyStepType, JsonObject]]:
    """(type, parameters); unknown types are left out."""
    return [(kind, params) for _, kind, params in _find_steps(document, types)]


def _find_steps(document: object, types: StepTypes) -> Iterator[tuple[int, AnyStepType, JsonObject]]:
    steps = document.get("steps", ()) if isinstance(document, Mapping) else ()
    for index, step in enumerate(steps if isinstance(steps, Sequence) else ()):
        params = step.get("params", {}) if isinstance(step, Mapping) else {}
        kind = find_type(str(step.get("type", "")), params, types) if isinstance(step, Mapping) and isinstance(params, Mapping) else None
        if kind is not None:
            yield index, kind, params
