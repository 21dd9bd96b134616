"""The names under which tests know steps: what a misspelt one was meant to be, and which there are at all."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.definitions.mistakes import SENTENCES
from orchestrator.documents.findings import Findings
from orchestrator.documents.reports import quote_part
from orchestrator.domain.finding import Path
from orchestrator.domain.suggestions import suggest_name
from orchestrator.engines.runs import RunFailed
from orchestrator.engines.scenarios.plan import Plan, StepTypes, build_plan

_CODE: Final = "finding-reference-unknown"
_SUB_SCENARIO: Final = "execute_sub_scenario"
_SUB_SCENARIO_ID: Final = "sub_scenario_id"

Names = Mapping[str, str]
"""The name of each step of a definition, by the first part of the names of its nodes."""


def name_steps(plan: Plan) -> Names:
    """Return the name of each step of a scenario: its id as the author wrote it, `step-3` for the third if it has none.

    If another step has that as its id, the step without one is `#3`.
    """
    ids = {one.step.id for one in plan.steps}
    return {one.label: one.step.id or (one.label if one.label not in ids else f"#{one.index + 1}") for one in plan.steps}


@dataclass(frozen=True)
class KnownSteps:
    """The steps for which a test may have mocks: those of the definition that it tests, and of others that it may start."""

    key: str
    """The key of the definition that is tested."""
    names: Mapping[str, Names]
    """The names of steps by the key of their definition."""
    kind: str = "step"
    """What they are called."""

    @property
    def is_open(self) -> bool:
        """Whether it is not known which steps there are, because one of the definitions cannot be played."""
        return not all(self.names.values())

    def list_names(self) -> list[str]:
        """Return the names of all steps."""
        return list(dict.fromkeys(name for names in self.names.values() for name in names.values()))

    def list_keyed_names(self) -> list[str]:
        """Return the names of all steps behind the keys of their definitions."""
        return [f"{key}/{name}" for key, names in self.names.items() for name in names.values()]

    def report_unknown(self, findings: Findings, path: Path, name: str, *, may_be_keyed: bool = False, of_value: bool = False) -> None:
        """Report the name that stands at `path`, as its key or value, unless there is such a step, with the one that was probably meant."""
        known = [*self.list_names(), *(self.list_keyed_names() if may_be_keyed else ())]
        if name not in known and not self.is_open:
            args: dict[str, str | int] = {"kind": self.kind, "name": quote_part(name)}
            message = SENTENCES[_CODE].format(**args)
            findings.add(_CODE, message, path, suggestion=self._suggest(name, known), of_value=of_value, args=args)

    def _suggest(self, name: str, known: Collection[str]) -> str:
        """Return the step that was meant: by its number, although it has an id, or by a similar name."""
        label = name.rpartition("/")[2]
        by_label = next((names[label] for names in self.names.values() if label in names), "")
        return by_label or suggest_name(name, known)


def find_known_steps(key: str, documents: Mapping[str, Any], types: StepTypes) -> KnownSteps:
    """Return the steps of a scenario and of those that it may start, directly or through others; `documents` are all that there are.

    What cannot be played has no steps. Where a name is known only when a step is done, it may be any scenario.
    """
    names: dict[str, Names] = {}
    left = [key]
    while left:
        one = left.pop()
        document = documents.get(one)
        if one in names or document is None:
            continue
        try:
            plan = build_plan(document, types)
        except RunFailed:
            names[one] = {}
            continue
        names[one] = name_steps(plan)
        left += _list_started(plan, documents)
    return KnownSteps(key, names)


def _list_started(plan: Plan, documents: Mapping[str, Any]) -> Iterator[str]:
    for one in plan.steps:
        named = one.step.params.get(_SUB_SCENARIO_ID) if one.type.name == _SUB_SCENARIO else None
        if isinstance(named, str):
            yield from documents if "{" in named else (named,)
