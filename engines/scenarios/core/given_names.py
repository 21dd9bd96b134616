"""Where a scenario decides or writes by who somebody is, as whoever starts it may say (S000-X5)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from engines.scenarios.core.definition import ABOUT_PERSON, IDENTITIES, RESERVED
from engines.scenarios.core.step_types import AnyStepType
from orchestrator.definitions.kinds import GivenName
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
