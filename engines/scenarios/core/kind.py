from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, Literal

from engines.scenarios.core.checks import TAKEN, TOLD_LATE, UNREACHED, check_scenario
from engines.scenarios.core.definition import ABOUT_PERSON, IDENTITIES, RESERVED, Scenario, is_for_customers
from engines.scenarios.core.plan import StepTypes, find_type
from engines.scenarios.core.step_types import AnyStepType
from orchestrator.definitions.calls import OPEN, mark_later
from orchestrator.definitions.kinds import AddressUse, CallUse, DefinitionKind, FilledField, GivenName, Reference, Write
from orchestrator.domain.finding import Path
from orchestrator.expressions.conditions import compile_condition
from orchestrator.expressions.placeholders import SCENARIO, Template
from state.stored import JsonObject

ReadSteps = Sequence[tuple[int, JsonObject, AnyStepType, JsonObject]]
"""(place in the list, step, its type, its parameters) of a correct scenario."""


def list_given_names(steps: ReadSteps, *, for_customers: bool) -> Iterator[GivenName]:
    """Yield ways that are chosen, and effects that are filled, by such a name or what was made of it."""
    carriers = _find_carriers(steps, ABOUT_PERSON if for_customers else IDENTITIES)
    if not carriers:
        return
    for index, step, kind, params in steps:
        base: Path = ("steps", index)
        condition = step.get("condition")
        if kind.decides and isinstance(condition, str):
            for name in _list_carried(compile_condition(condition).reads or (), carriers):
                yield GivenName((*base, "condition"), name, RESERVED + name)
        writes = kind.list_writes(params)
        if writes is None or writes:
            for place in Template({name: one for name, one in params.items() if name not in kind.unfilled}, SCENARIO).placeholders:
                if place.name in carriers:
                    name = carriers[place.name]
                    yield GivenName((*base, "params", *place.at), name, RESERVED + name, writes)


def _find_carriers(steps: ReadSteps, names: frozenset[str]) -> dict[str, str]:
    """Names by the variables that hold their values."""
    own = {name.split(".")[0] for _, _, kind, params in steps for name in kind.list_outputs(params)}
    carriers = {name: name for name in sorted(names - own)}
    derived = [(name.split(".")[0], reads) for _, _, kind, params in steps for name, reads in _list_made(kind, params)]
    grown = -1
    while carriers and grown != len(carriers):
        grown = len(carriers)
        for variable, reads in derived:
            for name in _list_carried(reads, carriers):
                carriers.setdefault(variable, name)
    return carriers


def _list_made(kind: AnyStepType, params: JsonObject) -> Iterator[tuple[str, Iterable[str]]]:
    for (_, name, *_), source in ((place, source) for place, source in kind.list_expressions(params) if len(place) > 1):
        yield str(name), compile_condition(source).reads or ()
    updates = params.get("updates")
    if isinstance(updates, Mapping):
        yield from ((str(name), [place.name for place in Template(one, SCENARIO).placeholders]) for name, one in updates.items())


def _list_carried(reads: Iterable[str], carriers: Mapping[str, str]) -> list[str]:
    return sorted({carriers[name] for name in reads if name in carriers})


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
