"""What one turn of the CRM agent has learned so far: named records, labels and prose that entered the prompt. Pure data."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.messages import Notice, Outcome, Pending, Provenance, Table

_NUMBER = re.compile(r"(?<![\d.,])\d{1,10}(?![\d.,]*\d)")
_ENTITIES = ("deal", "lead", "contact", "company", "task", "activity", "user")
_OBJECTS = {"current_deal_id": "deal", "current_contact_id": "contact", "current_company_id": "company", "current_task_id": "task"}


@dataclass(kw_only=True)
class TurnWork:
    """Grows while the turn goes on. `prose` never goes back to False within a turn (DESIGN §3, taint)."""

    text: str
    prose: bool = False
    targets: set[str] = field(default_factory=set)
    labels: list[str] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    pending: list[Pending] = field(default_factory=list)
    planned: list[Outcome] = field(default_factory=list)
    left: list[dict[str, Any]] = field(default_factory=list)
    """Steps that did not run: they stay in next_planned_actions (S004-X7)."""
    rest: list[dict[str, Any]] = field(default_factory=list)
    """Steps that a stopped plan did not come to: they stay there too, and the person is told."""
    tables: dict[int, Table] = field(default_factory=dict)
    resolved: dict[str, Any] = field(default_factory=dict)

    def begin_iteration(self, steps: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """A new iteration begins: [[list N]] means its tables, and what it proposes again is no longer the rest of a stopped plan."""
        self.tables.clear()
        self.rest = [entry for entry in self.rest if (entry["method"], entry["params"]) not in steps]

    def build_provenance(self) -> Provenance:
        """What the gate is told about the next step."""
        return Provenance(prose=self.prose, targets=frozenset(self.targets), external=tuple(self.labels[-200:]), person_text=self.text)


def start_work(text: str, quoted: str, state: Mapping[str, Any]) -> TurnWork:
    """The work at the beginning of a turn: numbers the person wrote, and the trusted current objects."""
    work = TurnWork(text=text, prose=bool(quoted))
    for number in _NUMBER.findall(text):
        work.targets |= {f"{entity}:{int(number)}" for entity in _ENTITIES}
    trusted = set(state["trusted"])
    for key, entity in _OBJECTS.items():
        current = f"{entity}:{state['agent']['objects'].get(key)}"
        if current in trusted:
            work.targets.add(current)
    return work
