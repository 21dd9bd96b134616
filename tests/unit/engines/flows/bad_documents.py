"""A flow with every field of the seed's schema, and what may not stand in each of them: the matrix of bad documents."""

import copy
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.domain.finding import Finding, Path, parse_path

Find = Callable[[object], list[Finding]]

FULL: dict[str, Any] = {
    "flowId": "solution-workshop",
    "version": 1,
    "metadata": {"title": "Мастерская", "description": "О чём", "tags": ["a"]},
    "syncOnly": True,
    "memory": {"sharedChannels": [{"id": "context", "retentionVersions": 5, "retentionDays": 7}]},
    "triggers": {"ui": True, "api": True},
    "defaults": {"context": {"a": 1}, "overrides": {"options": {"temperature": 0.5, "topP": 0.9, "maxTokens": 100}}},
    "launchParameters": [{"name": "problem", "type": "string", "required": True, "description": "Что решаем?", "choices": ["x", "y"]}],
    "startStepId": "gather",
    "steps": [
        {
            "id": "gather", "name": "Сбор", "agentVersionId": "writer", "prompt": "Собери.",
            "overrides": {"temperature": 0.2, "topP": 0.9, "maxTokens": 1024}, "memoryReads": [{"channel": "context", "limit": 5}],
            "memoryWrites": [{"channel": "context", "mode": "STATIC", "payload": {"event": "begin"}}],
            "transitions": {"onSuccess": {"next": "review"}, "onFailure": {"next": "review", "fail": True}}, "maxAttempts": 2,
        },
        {"id": "review", "agentVersionId": "writer", "transitions": {"onSuccess": {"complete": True}}},
    ],
    "outputs": {"summaryFields": ["steps.review.output.content"], "resultPayload": {"solution": "$steps.review.output.content"}},
}  # fmt: skip

_JUNK: dict[str, Sequence[Any]] = {
    "slug": ((5, 1.5, True, [], {}, "", "a b", "й", "a" * 65, "a\x00b")), "word": ((5, 1.5, True, [], {})),
    "name": ((5, 1.5, True, [], {}, "")), "integer": (("1", 1.5, True, [], {})), "number": (("0.5", True, [], {}, 99.0, -1)),
    "boolean": ((0, 1, "true", [], {})), "object": ((5, "x", True, [])), "list": ((5, "x", True, {})),
    "choice": ((5, True, [], {}, "", "other")), "variable": ((5, True, [], {}, "", "a b", "1a", "a-b", "a" * 101)),
}  # fmt: skip


@dataclass(frozen=True)
class Field:
    """One field of the schema: its place in `FULL`, what it is, whether it must be there and whether it may be null."""

    place: str
    kind: str
    required: bool = False
    nullable: bool = False
    largest: Any = None
    """A value that is too large for it, None if there is none."""

    @property
    def path(self) -> Path:
        """Its place."""
        return parse_path(self.place)

    @property
    def wrong(self) -> Iterator[Any]:
        """What may not stand in it."""
        yield from _JUNK[self.kind]
        if not self.nullable:
            yield None
        if self.largest is not None:
            yield self.largest


_STEP = "steps[0]"
FIELDS = (
    Field("flowId", "slug", required=True), Field("version", "integer", nullable=True), Field("metadata", "object"),
    Field("metadata.title", "word", largest="т" * 201), Field("metadata.description", "word", largest="т" * 2001),
    Field("metadata.tags", "list", largest=["т"] * 51), Field("metadata.tags[0]", "name", largest="т" * 51), Field("syncOnly", "boolean"),
    Field("memory", "object"), Field("memory.sharedChannels", "list", largest=[{"id": f"c{n}"} for n in range(101)]),
    Field("memory.sharedChannels[0]", "object"), Field("memory.sharedChannels[0].id", "slug", required=True),
    Field("memory.sharedChannels[0].retentionVersions", "integer", largest=1001),
    Field("memory.sharedChannels[0].retentionDays", "integer", largest=3651), Field("triggers", "object"),
    Field("triggers.ui", "boolean"), Field("triggers.api", "boolean"), Field("defaults", "object"), Field("defaults.context", "object"),
    Field("defaults.overrides", "object"), Field("defaults.overrides.options", "object"),
    Field("defaults.overrides.options.temperature", "number", nullable=True),
    Field("defaults.overrides.options.topP", "number", nullable=True),
    Field("defaults.overrides.options.maxTokens", "integer", nullable=True, largest=10**6 + 1),
    Field("launchParameters", "list", largest=[{"name": f"p{n}"} for n in range(101)]), Field("launchParameters[0]", "object"),
    Field("launchParameters[0].name", "name", required=True, largest="т" * 101), Field("launchParameters[0].type", "choice"),
    Field("launchParameters[0].required", "boolean"), Field("launchParameters[0].description", "word", largest="т" * 501),
    Field("launchParameters[0].choices", "list", largest=["x"] * 101), Field("startStepId", "word", nullable=True),
    Field("steps", "list", required=True, largest=[{"id": f"s{n}", "agentVersionId": "writer"} for n in range(501)]),
    Field(_STEP, "object"), Field(f"{_STEP}.id", "slug", required=True), Field(f"{_STEP}.name", "word", largest="т" * 201),
    Field(f"{_STEP}.agentVersionId", "name", required=True, largest="т" * 201),
    Field(f"{_STEP}.prompt", "word", nullable=True, largest="т" * 100_001), Field(f"{_STEP}.overrides", "object"),
    Field(f"{_STEP}.overrides.temperature", "number", nullable=True), Field(f"{_STEP}.overrides.topP", "number", nullable=True),
    Field(f"{_STEP}.overrides.maxTokens", "integer", nullable=True, largest=10**30),
    Field(f"{_STEP}.memoryReads", "list", largest=[{"channel": "a"}] * 51), Field(f"{_STEP}.memoryReads[0]", "object"),
    Field(f"{_STEP}.memoryReads[0].channel", "slug", required=True), Field(f"{_STEP}.memoryReads[0].limit", "integer"),
    Field(f"{_STEP}.memoryWrites", "list", largest=[{"channel": "a"}] * 51), Field(f"{_STEP}.memoryWrites[0]", "object"),
    Field(f"{_STEP}.memoryWrites[0].channel", "slug", required=True), Field(f"{_STEP}.memoryWrites[0].mode", "choice"),
    Field(f"{_STEP}.transitions", "object"), Field(f"{_STEP}.transitions.onSuccess", "object"),
    Field(f"{_STEP}.transitions.onSuccess.next", "word", nullable=True, largest="a" * 65),
    Field("steps[1].transitions.onSuccess.complete", "boolean", nullable=True), Field(f"{_STEP}.transitions.onFailure", "object"),
    Field(f"{_STEP}.transitions.onFailure.next", "word", nullable=True, largest="a" * 65),
    Field(f"{_STEP}.transitions.onFailure.fail", "boolean", nullable=True), Field(f"{_STEP}.maxAttempts", "integer", largest=21),
    Field("outputs", "object"), Field("outputs.summaryFields", "list", largest=["steps.review.output"] * 101),
    Field("outputs.summaryFields[0]", "word"), Field("outputs.resultPayload", "object"),
)  # fmt: skip

WRONG_REFERENCES = (
    ("startStepId", "nowhere"), (f"{_STEP}.transitions.onSuccess.next", "nowhere"), (f"{_STEP}.transitions.onFailure.next", "nowhere"),
    ("outputs.summaryFields[0]", "steps.nowhere.output"), ("outputs.resultPayload.solution", "$steps.nowhere.output.content"),
)  # fmt: skip
"""What has the right form and names a step that is not there."""


def put(path: Path, value: Any, full: Mapping[str, Any] = FULL) -> dict[str, Any]:
    """The full document with this value at this place."""
    document = copy.deepcopy(dict(full))
    part: Any = document
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    return document


def drop(path: Path, full: Mapping[str, Any] = FULL) -> dict[str, Any]:
    """The full document without the field at this place."""
    document = copy.deepcopy(dict(full))
    part: Any = document
    for step in path[:-1]:
        part = part[step]
    del part[path[-1]]
    return document


def check_wrong_values(field: Field, find: Find, follows: frozenset[str], full: Mapping[str, Any] = FULL) -> None:
    """Each value that may not stand in a field is an error at that field, and elsewhere there is only what `follows` of it."""
    for value in field.wrong:
        errors = find(put(field.path, value, full))
        assert field.place in {one.path for one in errors}, (value, errors)
        elsewhere = [one for one in errors if not one.path.startswith(field.place)]
        assert {one.code for one in elsewhere} <= follows, (value, elsewhere)
        assert all(one.line and one.column for one in errors), value


def check_huge(document: Any, place: str, find: Find) -> None:
    """It is refused in bounded time, with a bounded number of findings, the first of them at its place."""
    begun = time.process_time()
    errors = find(document)
    assert time.process_time() - begun < 10
    assert 0 < len(errors) <= 201
    assert any(one.path.startswith(place) for one in errors), [one.path for one in errors[:5]]
