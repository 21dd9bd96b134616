"""Random workflows, with what they must give: computed one tuum after the other in plain Python, without the engine."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.unit.engines.workflows.played_kit import code
from tests.unit.engines.workflows.workflow_kit import parameter, prompt, put, tuum, workflow

SEEDS = 200
START = "тема"
"""The value of the only trigger parameter, `start`."""
_PRIME = 9973
_KINDS = ("set", "script", "model", "json")


@dataclass(frozen=True, slots=True)
class Expected:
    """What a random workflow must give."""

    values: Mapping[str, str]
    """The globals at the end."""
    names: Sequence[str]
    """The ids of the records of its operations, in order."""
    raw_text: str
    prompts: Sequence[str]
    """What its models are asked, in any order."""


def build_random_dag(seed: int, most: int = 16) -> dict[str, Any]:
    """A workflow of up to `most` tuums of all kinds, in the order in which they can run."""
    dice = random.Random(seed)  # noqa: S311 - a plan is no secret
    count = dice.randint(2, most)
    tuums = []
    for number in range(count):
        earlier = [f"v{one}" for one in dice.sample(range(number), min(number, dice.randint(0, 2)))]
        needs = earlier or (["start"] if dice.random() < 0.5 else [])
        tuums.append(_build_tuum(f"t{number}", needs, f"v{number}", dice.choice(_KINDS), emits=dice.random() < 0.4))
    return workflow(*tuums, triggerParameters=[parameter("start")], terminal={"rawText": f"v{count - 1}"})


def shuffle_tuums(document: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The same workflow with its tuums in another order of the file."""
    tuums = list(document["tuums"])
    random.Random(seed).shuffle(tuums)  # noqa: S311 - as above
    return {**document, "tuums": tuums}


def _build_tuum(name: str, needs: Sequence[str], gives: str, kind: str, *, emits: bool) -> dict[str, Any]:
    """A tuum that publishes what `_compute` says; what kind it is stands in `metadata`, where the expectation reads it."""
    written = f"{name}({','.join(f'{{{{{one}}}}}' for one in needs)})"
    fields: dict[str, Any] = {"metadata": {"title": f"{kind} {gives} {' '.join(needs)}"}, "outputMappings": {gives: "out"}}
    runes: list[dict[str, Any]] = []
    match kind:
        case "set":
            runes.append(put("out", written))
        case "json":
            runes += [put("text", f'Вот: {{"found": ["{written}"]}}'), _extract()]
        case "script":
            joined = " + ',' + ".join(needs) or "''"
            source = f'text = "{name}(" + {joined} + ")"\n{{"out": "{name}:" + str(sum(ord(one) for one in text) % {_PRIME})}}'
            fields["mainScript"] = code(source, consumes=" ".join(needs), produces="out")
        case _:
            fields |= {"promptRunes": [prompt(written)], "aiService": "tool", "isStreaming": len(needs) > 1}
            fields["mainScript"] = code('{"out": ai_final_output}', consumes="ai_final_output", produces="out")
    if emits:
        runes.append({"runeType": "operation", "operationType": "CreateEntity", "entityType": "lead", "entityId": name, "initialAttributes": {"TITLE": written}})  # fmt: skip
    return tuum(name, *runes, **fields)


def _extract() -> dict[str, Any]:
    return {"runeType": "json", "input": "text", "path": "found[0]", "output": "out"}


def answer_prompt(text: str) -> str:
    """What the model of random workflows says: short, so that values do not grow with each tuum."""
    return f"<{sum(map(ord, text)) % _PRIME}>"


def expect(document: Mapping[str, Any], answer: Callable[[str], str] = answer_prompt) -> Expected:
    """What the workflow must give, whatever the order of its file, if its models answer so: its tuums one after the other."""
    values, levels, prompts = {"start": START}, {"start": -1}, []
    waiting = list(enumerate(document["tuums"]))
    emitted: list[tuple[int, int, str]] = []
    while waiting:
        index, one = waiting.pop(0)
        kind, gives, *needs = one["metadata"]["title"].split(" ")
        needs = [need for need in needs if need]
        if any(need not in values for need in needs):
            waiting.append((index, one))
            continue
        levels[gives] = 1 + max((levels[need] for need in needs), default=-1)
        text = f"{one['tuumId']}({','.join(values[need] for need in needs)})"
        if kind == "model":
            prompts.append(text)
        values[gives] = answer(text) if kind == "model" else _compute(kind, one["tuumId"], text)
        if one["runes"] and one["runes"][-1]["runeType"] == "operation":
            emitted.append((levels[gives], index, one["tuumId"]))
    last = document["terminal"]["rawText"]
    return Expected(values, [name for _, _, name in sorted(emitted)], values[last], prompts)


def _compute(kind: str, name: str, text: str) -> str:
    return f"{name}:{sum(map(ord, text)) % _PRIME}" if kind == "script" else text
