"""The steps for which a test may have mocks."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from orchestrator.definitions.mistakes import SENTENCES
from orchestrator.documents.findings import Findings
from orchestrator.documents.reports import quote_part
from orchestrator.domain.finding import Path
from orchestrator.domain.suggestions import suggest_name

_CODE: Final = "finding-reference-unknown"
Names = Mapping[str, str]
"""By the first part of their nodes' names."""


@dataclass(frozen=True)
class KnownSteps:
    """Those of the tested definition, and of others that it may start."""

    key: str
    names: Mapping[str, Names]
    """By the key of their definition."""
    kind: str = "step"

    @property
    def is_open(self) -> bool:
        """A definition cannot be played, so not all steps are known."""
        return not all(self.names.values())

    def list_names(self) -> list[str]:
        return list(dict.fromkeys(name for names in self.names.values() for name in names.values()))

    def list_keyed_names(self) -> list[str]:
        """Return them as key/name."""
        return [f"{key}/{name}" for key, names in self.names.items() for name in names.values()]

    def report_unknown(self, findings: Findings, path: Path, name: str, *, may_be_keyed: bool = False, of_value: bool = False) -> None:
        known = [*self.list_names(), *(self.list_keyed_names() if may_be_keyed else ())]
        if name not in known and not self.is_open:
            args: dict[str, str | int] = {"kind": self.kind, "name": quote_part(name)}
            message = SENTENCES[_CODE].format(**args)
            findings.add(_CODE, message, path, suggestion=self._suggest(name, known), of_value=of_value, args=args)

    def _suggest(self, name: str, known: Collection[str]) -> str:
        """By number, although it has an id, or by a similar name."""
        label = name.rpartition("/")[2]
        by_label = next((names[label] for names in self.names.values() if label in names), "")
        return by_label or suggest_name(name, known)
