from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from orchestrator.domain.actor import Actor


@dataclass(frozen=True, kw_only=True)
class Absence:
    until: date
    deputy: str = ""


class Staff(Protocol):
    def list_people(self) -> Sequence[Actor]: ...

    def find_lead(self, key: str) -> str:
        """Empty if none is named."""

    def find_absence(self, key: str) -> Absence | None:
        """It may already be over."""
