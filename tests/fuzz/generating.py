"""schemathesis over a served API: every operation, every phase, one caller; what it found, in words."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Self

import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events
from schemathesis.engine.core import Engine
from schemathesis.engine.recorder import ScenarioRecorder

from bot.http_api.audit.session_events import LONGEST_WAIT

LATER = ("fuzzing", "stateful")
ALL = ("examples", "coverage", *LATER)
OUR_OWN = frozenset({"x-trace-id", "cache-control", "x-content-type-options"})
"""Headers of every answer."""
_PLACES = count(1)


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Each request comes from elsewhere, or the wrong tokens among them would lock out all that follow."""
    del context, kwargs
    number = next(_PLACES)
    case.headers["X-Forwarded-For"] = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"


@dataclass
class Found:
    """What runs came to."""

    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    """How often each operation gave each status."""
    faults: dict[str, str] = field(default_factory=dict)

    @property
    def cases(self) -> int:
        """How many requests were made."""
        return self.answers.total()

    def __iadd__(self, other: "Found") -> Self:
        """Both."""
        self.answers += other.answers
        self.faults |= other.faults
        return self


def generated(description: Mapping[str, Any], address: str, token: str, *, examples: int, seed: int, phases: tuple[str, ...]) -> Found:
    """Run the phases; the same seed makes the same cases.

    Valid data may be refused: that a cursor is one of ours, or that overrides are off here, is nothing that a schema can say. Invalid data
    may be refused for any reason, also as too large; that each status is described, and none is 5xx, are checks of their own.
    """
    config = SchemathesisConfig.from_dict(
        {
            "seed": seed,
            "base-url": address,
            "request-timeout": LONGEST_WAIT + 10.0,
            "generation": {"deterministic": True, "max-examples": examples, "database": "none", "no-shrink": True},
            "phases": {name: {"enabled": name in phases} for name in ALL},
            "checks": {"positive_data_acceptance": {"enabled": False}, "negative_data_rejection": {"expected-statuses": ["4xx", "5xx"]}},
            "cache": {"enabled": False},
            **({"auth": {"openapi": {"APIKeyHeader": {"api_key": token}}}} if token else {}),
        }
    )
    found = Found()
    for event in Engine(schemathesis.openapi.from_dict(dict(description), config=config)).execute():
        if isinstance(event, events.FatalError):
            raise event.exception
        if isinstance(event, events.NonFatalError):
            found.faults[f"{event.label}: {event.value!r}"[:300]] = str(event.value)[:2000]
        elif isinstance(event, events.ScenarioFinished):
            _note(event.recorder, found)
    return found


def _note(recorder: ScenarioRecorder, found: Found) -> None:
    for key, interaction in recorder.interactions.items():
        case, answer = recorder.cases[key].value, interaction.response
        found.answers[f"{case.method} {case.path}", answer.status_code if answer is not None else 0] += 1
        if answer is not None and (missing := OUR_OWN - {name.lower() for name in answer.headers}):
            found.faults[f"{case.method} {case.path} without {sorted(missing)}"] = str(answer.status_code)
    for checks in recorder.checks.values():
        for failure in (check.failure_info for check in checks if check.failure_info is not None):
            told = f"{failure.failure.message}\n{failure.code_sample}"[:1500]
            found.faults.setdefault(f"{recorder.label}: {failure.failure.title}", told)
