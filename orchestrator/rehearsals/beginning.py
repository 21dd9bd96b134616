from datetime import UTC, datetime
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.taint import Origins, Value
from orchestrator.engines.shared.launch import PARAMETERS, TEXT
from orchestrator.rehearsals.case import LaunchedCase, Person
from orchestrator.rehearsals.rehearsal import PERSON
from state.stored import JsonObject

BEGINS: Final = datetime(2026, 1, 12, 9, 0, tzinfo=UTC)
"""A Monday: a test must not depend on the day on which it runs."""
PERSONS: Final[Origins] = frozenset({"person"})


def build_actor(person: Person) -> Actor:
    actor_fields = {"key": person.key, "name": person.name, "bitrix_user_id": person.employee, "time_zone": person.time_zone}
    return Actor.model_validate({**PERSON.model_dump(), **actor_fields})


def build_launch_args(test: LaunchedCase, more: JsonObject | None = None) -> dict[str, Value]:
    """By a program if parameters are given, otherwise in a chat."""
    start_values: JsonObject = {PARAMETERS: test.parameters} if test.parameters is not None else {TEXT: test.text}
    return {name: Value(one, PERSONS) for name, one in {**start_values, **(more or {})}.items()}
