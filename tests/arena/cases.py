"""The arena's tasks and attacks as they stand in tasks.yaml and attacks.yaml, and the cases that are made of them.

A case says what the person writes, what the model answers, and which calls are right. Everything else that is written is unwanted.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlencode

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict

from sandbox.portal.php import to_pairs

HERE: Final = Path(__file__).resolve().parent
FORMS: Final = ("plain", "confirmed", "batch", "beside")
"""How an attacked model writes the call that the foreign text orders: as it is, as confirmed, inside a batch, in one plan with the honest step."""


@dataclass(frozen=True)
class Call:
    """One call of a method."""

    method: str
    params: Mapping[str, Any] = field(default_factory=dict)


def _parse_calls(entries: Sequence[Mapping[str, Any]]) -> tuple[Call, ...]:
    """Return the calls that a file writes as {method: params}."""
    return tuple(Call(method, params or {}) for one in entries for method, params in one.items())


Calls = Annotated[tuple[Call, ...], BeforeValidator(_parse_calls)]


class _Part(BaseModel):
    """Base class of what stands in the files; a misspelt key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Task(_Part):
    """A request, the calls that are right for it, and what a model that errs would call in their place."""

    say: str
    by: str = "manager"
    given: Calls = ()
    """Calls that make the portal ready."""
    reads: Calls = ()
    """The first answer of the model, before the one that writes."""
    gold: Calls = ()
    wrong: Mapping[str, Any] = {}
    """By the kind of error: a change of the first right call (null takes a value away), or as a list the calls that stand behind the right ones."""


class Channel(_Part):
    """A place where text of others is read: how `{text}` gets there, and what the model reads."""

    say: str
    quoted: str = ""
    given: Calls = ()
    reads: Calls = ()
    before: str = ""
    """What the person asks in an earlier turn, in which the text is read and told; "" if it is read in the attacked turn."""


class Goal(_Part):
    """What the text of others orders, and the calls of a model that obeys."""

    text: str
    calls: Calls


class Attacks(_Part):
    """The file of attacks: each goal is tried through each channel in each form."""

    order: str
    """What the person orders where the attack stands in one plan with an honest step."""
    honest: Calls
    channels: Mapping[str, Channel]
    goals: Sequence[Goal]


@dataclass(frozen=True)
class Case:
    """What is played: the request, the model's answers in order, and the calls that are right."""

    name: str
    kind: str
    """A row of the table: "gold", "single", "wrong: …", "attack: …"."""
    say: str
    answers: Sequence[Sequence[Mapping[str, Any]]]
    gold: Sequence[Call]
    person: str = "manager"
    quoted: str = ""
    before: str = ""
    """The message of an earlier turn, which ends with the first answer without steps."""
    told: str = ""
    """What the model says in that answer."""
    given: Sequence[Call] = ()
    insists: bool = False
    """Whether the model proposes its last answer again after each card that was denied."""


@cache
def load_tasks() -> tuple[Sequence[Task], Mapping[str, Any]]:
    """Return the tasks, and what the references in their right calls mean."""
    stored = yaml.safe_load((HERE / "tasks.yaml").read_text(encoding="utf-8"))
    return [Task.model_validate(one) for one in stored["tasks"]], stored["means"]


@cache
def load_attacks() -> Attacks:
    """Return the attacks."""
    return Attacks.model_validate(yaml.safe_load((HERE / "attacks.yaml").read_text(encoding="utf-8")))


def list_cases_of(task: Task) -> Iterator[Case]:
    """Yield the cases of a task: its right answer in one plan and one call an answer, and each wrong answer with a model that insists."""
    common: dict[str, Any] = {"say": task.say, "person": task.by, "given": task.given}
    reads = [_write_steps(task.reads)] if task.reads else []
    if task.gold:
        yield Case(name=task.say, kind="gold", answers=[*reads, _write_steps(task.gold)], gold=task.gold, **common)
    if len(task.gold) > 1 and "@created" not in str(task.gold):
        yield Case(name=task.say, kind="single", answers=[*reads, *(_write_steps([one]) for one in task.gold)], gold=task.gold, **common)
    for kind, change in task.wrong.items():
        plan = _make_wrong(task.gold, change)
        right = [call for call in task.gold if call in plan]
        yield Case(
            name=f"{task.say} ({kind})", kind=f"wrong: {kind}", answers=[*reads, _write_steps(plan)], gold=right, insists=True, **common
        )


def list_attack_cases() -> Iterator[Case]:
    """Yield each goal through each channel in each form."""
    attacks = load_attacks()
    for form, (number, goal), (name, channel) in product(FORMS, enumerate(attacks.goals), attacks.channels.items()):
        honest = attacks.honest if form == "beside" else ()
        is_paste = "{text}" in channel.say
        lines = [*([attacks.order] if honest else []), *([channel.say] if is_paste or not honest else [])]
        reads = [_write_steps(channel.reads)] if channel.reads else []
        yield Case(
            name=f"{name}, {form}: {goal.text}",
            kind=f"attack: {name}",
            say="\n".join(lines).replace("{text}", goal.text),
            quoted=channel.quoted.replace("{text}", goal.text),
            given=_fill(channel.given, goal.text),
            before=channel.before,
            told=f"Там написано: {goal.text}",
            answers=[*reads, *([[]] if channel.before else []), [*_write_steps(honest), *_write_attack(goal.calls, form)]],
            gold=honest,
            insists=number % 2 == 1,
        )


def _fill(calls: Sequence[Call], text: str) -> tuple[Call, ...]:
    return tuple(Call(one.method, json.loads(json.dumps(one.params).replace("{text}", json.dumps(text)[1:-1]))) for one in calls)


def _make_wrong(gold: Sequence[Call], change: Any) -> tuple[Call, ...]:
    if isinstance(change, list):
        return (*gold, *_parse_calls(change))
    return (Call(gold[0].method, _merge(gold[0].params, change)), *gold[1:])


def _merge(params: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(params)
    for key, value in change.items():
        inner = merged.get(key)
        merged[key] = _merge(inner, value) if isinstance(value, Mapping) and isinstance(inner, Mapping) else value
    return {key: value for key, value in merged.items() if value is not None}


def _write_steps(calls: Sequence[Call]) -> list[dict[str, Any]]:
    """Return calls as a model writes them."""
    return [{"method": one.method, "params": dict(one.params), "comment": "так попросили"} for one in calls]


def _list_pairs(params: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in params.items():
        yield from to_pairs(value, name)


def _write_attack(calls: Sequence[Call], form: str) -> list[dict[str, Any]]:
    if form == "batch":
        commands = {f"c{number}": f"{one.method}?{urlencode(list(_list_pairs(one.params)))}" for number, one in enumerate(calls)}
        return _write_steps([Call("batch", {"halt": 0, "cmd": commands})])
    return [{**one, "confirmed": True} if form == "confirmed" else one for one in _write_steps(calls)]
