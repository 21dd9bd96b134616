"""Files that nobody can play are refused with a reason within a bounded time, however large, deep or twisted they are."""

import json
import time
from typing import Any

import pytest

from engines.scenarios.core.kind import build_kind
from engines.scenarios.core.registry import build_step_types
from orchestrator.definitions.kinds import find_mistakes
from orchestrator.documents.findings import MOST
from orchestrator.documents.reading import read_document
from orchestrator.domain.finding import Finding
from tests.unit.engines.scenarios.scenario_kit import ask, say, scenario
from tests.unit.expressions.hostile_kit import read_hostile

TYPES = build_step_types()
SECONDS = 10.0
"""CPU within which each file is refused; on a quiet machine the slowest takes one."""


def check(text: str | bytes) -> list[Finding]:
    """What is wrong with a file."""
    begun = time.process_time()
    found = find_mistakes(build_kind(TYPES), read_document(text))
    assert time.process_time() - begun < SECONDS
    assert all(one.message for one in found)
    assert len(found) <= MOST + 1
    return [one for one in found if one.severity == "error"]


def write(*steps: Any, **more: Any) -> str:
    return json.dumps(scenario(*steps, **more), ensure_ascii=False)


def update(name: str, value: Any = 1) -> dict[str, Any]:
    return {"type": "update_context", "params": {"updates": {name: value}}}


def press(rows: int, columns: int) -> dict[str, Any]:
    """A message with so many buttons."""
    row = [{"text": "Да", "callback_data": "1"}] * columns
    return {"type": "telegram_send_message", "params": {"text": "?", "inline_keyboard": [row] * rows}}


FILES: dict[str, str | bytes] = {
    "10 MB of text": write(say("я" * 5_000_000)),
    "10 MB of spaces": " " * 10_000_000 + write(say("x")),
    "10 MB of a comment": "//" + "x" * 10_000_000 + "\n" + write(say("x")),
    "10 MB of brackets": "[" * 10_000_000,
    "100,000 steps": '{"name": "x", "steps": [' + ",".join(['{"type":"end"}'] * 100_000) + "]}",
    "60,000 steps of YAML": "name: x\nsteps:\n" + "- {type: end}\n" * 60_000,
    "100,000 levels of lists": '{"name": "x", "steps": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "100,000 levels of objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "200 levels in parameters": write(update("a", json.loads("[" * 200 + "]" * 200))),
    "200 levels of YAML": "name: x\nsteps: " + "[" * 200 + "]" * 200,
    "a billion laughs": "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(f"{c}: &{c} [{','.join([f'*{p}'] * 9)}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True)),
    "a YAML tag that makes an object": "name: !!python/object/apply:os.system [id]\nsteps: [{type: end}]\n",
    "an anchor in itself": "name: x\nsteps: &s [*s]\n",
    "two keys alike": '{"name": "x", "steps": [], "steps": [{"type": "end"}]}',
    "no UTF-8": b'{"name": "\xff\xfe", "steps": [{"type": "end"}]}',
    "a NUL": '{"name": "a\x00b", "steps": [{"type": "end"}]}',
    "half a character": '{"name": "x", "steps": [{"type": "message", "params": {"text": "\\ud800"}}]}',
    "a number of 10,000 digits": '{"name": "x", "steps": [{"type": "wait", "params": {"seconds": ' + "9" * 10_000 + "}}]}",
    "no number": '{"name": "x", "steps": [{"type": "wait", "params": {"seconds": NaN}}]}',
    "a wait of 10,000 years": write({"type": "wait", "params": {"seconds": 3.2e11}}),
    "a name of 3,000 parts": write(update(".".join("a" * 3_000))),
    "an answer into 3,000 parts": write(ask(".".join("a" * 3_000))),
    "a result into 3,000 parts": write({"type": "llm_request", "params": {"prompt": "?", "output_var": ".".join("a" * 3_000)}}),
    "a mapping into 3,000 parts": write({"type": "execute_sub_scenario", "params": {"sub_scenario_id": "x", "output_mapping": {".".join("a" * 3_000): "a"}}}),
    "an expression out of its brackets": write(ask(regex="a)|(?:b")),
    "an expression that needs gigabytes": write(ask(regex=r"(((((((a{1,9}){1,9}){1,9}){1,9}){1,9}){1,9}){1,9})")),
    "an expression of 249 brackets in brackets": write(ask(regex="(" * 249 + "a" + ")" * 249)),
    "an expression of 100,000 characters": write(ask(regex="a" * 100_000)),
    "800 buttons": write(press(100, 8)),
    "a row of 100 buttons": write(press(1, 100)),
    "1,000 rows of buttons": write(press(1_000, 1)),
    "1,000 buttons under a question": write(ask(buttons=["x"] * 1_000)),
    "a condition of 100,000 characters": write({"type": "branch", "condition": "1 + " * 25_000 + "1", "branches": {"if": "a"}}, say("x", id="a")),
    "a scenario in circles": write({**say("x", id="a"), "next_step": "b"}, {**say("y", id="b"), "next_step": "a"}),
    "4,000 steps in a circle": write(*({**say("x", id=f"s{n}"), "next_step": f"s{(n + 1) % 4_000}"} for n in range(4_000))),
    "a step of the program's variables": write(update("__scenario_instance_id__")),
    "no object": "[]",
    "nothing": "",
    "steps as an object": '{"name": "x", "steps": {"a": 1}}',
    "an id of 10,000 characters": write(say("x", id="i" * 10_000)),
    "4,000 names that are nearly right": write(*({**say("x", id=f"step{n}"), "next_step": f"stpe{n}"} for n in range(4_000))),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_nobody_can_play_is_refused_with_a_reason(name: str) -> None:
    """Within a bounded time, with a bounded number of findings, each of which says something."""
    assert check(FILES[name])


@pytest.mark.parametrize("source", read_hostile(), ids=lambda one: one[:40])
def test_a_hostile_condition_harms_no_check(source: str) -> None:
    """The check of the file ends, and what is refused has its place in it."""
    branch = {"type": "branch", "condition": source, "branches": {"if": "a", "else": "a"}}
    for one in check(write(branch, say("x", id="a"))):
        assert one.line == 1
        assert one.column > 1 or one.code == "finding-document-large"


CONDITIONS = {
    "plain": ("condition: a + ** b", 4, "** b"),
    "in double quotes": ('condition: "a + ** b"', 4, "** b"),
    "in single quotes": ("condition: 'a + ** b'", 4, "** b"),
    "behind escapes": (r'condition: "\"x\" == \u0061 + ** b"', 4, "** b"),
    "behind doubled quotes": ("condition: 'a == ''x'' + ** b'", 4, "** b"),
    "as a block": ("condition: |\n      a + ** b", 5, "** b"),
    "as a folded block": ("condition: >-\n      a + ** b", 5, "** b"),
    "refused, in quotes": ('condition: "a == b ** c"', 4, "b ** c"),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_the_mistake_of_a_condition_stands_at_its_column(name: str) -> None:
    """However YAML writes the text: quotes and escapes before the mistake count as they are written."""
    written, line, at = CONDITIONS[name]
    text = f"name: x\nsteps:\n  - type: branch\n    {written}\n    branches: {{if: a, else: a}}\n  - {{id: a, type: end}}\n"
    (found,) = check(text)
    row = text.split("\n")[found.line - 1]
    assert (found.line, row[found.column - 1 :].startswith(at)) == (line, True)
