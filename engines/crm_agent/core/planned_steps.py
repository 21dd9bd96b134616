"""A step of a plan, and the references in its parameters, which stand for whole values."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from engines.crm_agent.core.turn_work import Page
from orchestrator.directory.answers import Ambiguous, Unresolved
from orchestrator.directory.current_records import is_binding_field
from orchestrator.directory.date_places import split_operator
from orchestrator.directory.field_references import find_key_reference, replace_key
from orchestrator.directory.value_references import find_fields
from orchestrator.domain.outputs import Notice
from orchestrator.engines.crm_agent.blocks import Step
from state.stored import JsonObject

REFERENCE_SIGN: Final = "@"


Stage = tuple[Callable[[Step], Step], Callable[[Step, JsonObject], Step]]
"""Builds a call that has names of a step where they are found, and puts back what was found."""


@dataclass(frozen=True, kw_only=True)
class PlannedStep:
    """A step with `problem` is not run. `slot` is "<turn>/<iteration>/<step>", `dates` what its periods were taken for.

    `namesakes`: names in its filter that stand for several records → the names of these.
    """

    slot: str
    step: Step
    problem: Unresolved | None = None
    dates: tuple[str, ...] = ()
    namesakes: JsonObject = field(default_factory=dict)
    limit: int = 0
    """Rows from the beginning; 0 for all."""
    page: Page | None = None
    replaces: str = ""
    """The confirmation that it withdraws, or that it stands for."""
    notes: tuple[Notice, ...] = ()
    """What code says of it on its card."""

    @property
    def taken(self) -> JsonObject:
        """What its days and names were taken for, as the model is told."""
        return {**({"dates": list(self.dates)} if self.dates else {}), **({"names": dict(self.namesakes)} if self.namesakes else {})}


def replace_references(value: object, values: Mapping[str, object]) -> Any:
    if isinstance(value, str):
        return values.get(value, value)
    if isinstance(value, Mapping):
        return {replace_key(key, values): replace_references(item, values) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [one for item in value for one in _replace_element(item, values)]
    return value


def _replace_element(element: object, values: Mapping[str, object]) -> Sequence[Any]:
    """Several, where a name stands for several records."""
    new = replace_references(element, values)
    return new if isinstance(new, list) and isinstance(element, str) else [new]


_NAMES: Final = ("@user:", "@deal:", "@lead:", "@contact:", "@company:", "@task:", "@stage:", "@category:")
_FITS: Final = frozenset({"", "=", "@"})


def means_all(reference: str, several: Ambiguous, step: Step) -> bool:
    """Whether a name that fits several records stands in nothing but the filter of a list: then all of them are meant."""
    conditions = find_fields(reference, step.params.get("filter"))
    outside = find_fields(reference, {name: value for name, value in step.params.items() if name != "filter"})
    return (
        step.method.lower().endswith(".list")
        and reference.startswith(_NAMES)
        and not several.is_guess
        and not outside
        and all(operator in _FITS and not is_binding_field(name) for operator, name in map(split_operator, conditions))
    )


def list_namesakes(several: Ambiguous) -> str:
    """Without what stands behind the names, unless that tells them apart."""
    labels = [option.label for option in several.fitting]
    names = [label.partition(" · ")[0] for label in labels]
    return ", ".join(names if len(set(names)) == len(names) else labels)


_REFERENCE = re.compile(
    r"@(?:(?:deal|lead|contact|company|task|user|reminder|order|stage|category|sum|shown|field|option):\S.*|me|current)", re.DOTALL
)


def find_references(value: object) -> list[str]:
    """In order, without duplicates and days."""
    references: list[str] = []
    _collect(value, references)
    # What an option means depends on its field, so the fields come first.
    return sorted(dict.fromkeys(references), key=lambda reference: not reference.startswith("@field:"))


def _collect(value: object, references: list[str]) -> None:
    if isinstance(value, str):
        if _REFERENCE.fullmatch(value):
            references.append(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if reference := find_key_reference(key):
                references.append(reference)
            _collect(item, references)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _collect(item, references)
