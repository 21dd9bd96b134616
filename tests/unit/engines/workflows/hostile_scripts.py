"""Scripts and runes that do harm, each by a name: what a tuum does with them is a matter of the tests."""

from typing import Any

from tests.unit.engines.workflows.played_kit import code
from tests.unit.engines.workflows.workflow_kit import put

FAILING: dict[str, str] = {
    "an endless loop": "while True:\n    pass",
    "an endless loop that catches everything": "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass",
    "a loop in finally": "try:\n    1 / 0\nfinally:\n    while True:\n        pass",
    "memory by a list": "[0] * 10**10",
    "memory by growth": "all = []\nwhile True:\n    all.append('x' * 1000000)",
    "memory by a text": "'x' * 10**11",
    "memory by replacing": "('x' * 1000000).replace('x', 'y' * 1000000)",
    "memory by a width": "f\"{'x':>100000000000}\"",
    "a power": "9 ** 9 ** 9",
    "a shift": "1 << 10**12",
    "recursion": "def again(n):\n    return again(n + 1)\nagain(0)",
    "mutual recursion": "def one(n):\n    return two(n)\ndef two(n):\n    return one(n)\none(0)",
    "a huge list": "{'out': list(range(200000))}",
    "a huge text": "{'out': 'x' * 1000000}",
    "a deep result": "found = []\nfor _ in range(5000):\n    found = [found]\n{'out': found}",
    "a result that holds itself": "found = []\nfound.append(found)\n{'out': found}",
    "a flood of prints": "while True:\n    print('x' * 1000)",
    "an import of the system": "import os\nos.system('id')",
    "a file": "open('/etc/passwd').read()",
    "the builtins": "__import__('os').system('id')",
    "an evaluation": "eval('1 + 1')",
    "the classes below": "{'out': str(().__class__.__bases__[0].__subclasses__())}",
    "an exit": "raise SystemExit(1)",
    "an interrupt": "raise KeyboardInterrupt()",
    "no object at the end": "5",
    "a number without end": "{'out': float('inf')}",
    "a NUL": "{'out': 'a\\x00b'}",
    "a large integer": "{'out': 10**300}",
    "thousands of emits": "for n in range(5000):\n    await emit({'operationType': 'DeleteEntity', 'entityType': 'deal', 'entityId': n + 1})\n{'out': 1}",
    "emits without end": "while True:\n    try:\n        await emit({'operationType': 'DeleteEntity', 'entityType': 'deal', 'entityId': '1'})\n    except Exception:\n        pass",
    "an emit of a number": "await emit(5)",
    "an emit of nothing": "await emit()",
    "an emit of too much": "await emit({}, {}, {})",
    "an emit of a strange name": "await emit(operation={'operationType': 'Explode', 'entityType': 'deal', 'entityId': '1'})",
    "an emit with a long id": "await emit({'operationType': 'DeleteEntity', 'entityType': 'deal', 'entityId': '1' * 100000})",
    "an emit with a deep value": "deep = []\nfor _ in range(150):\n    deep = [deep]\nawait emit({'operationType': 'ModifyEntity', 'entityType': 'deal', 'entityId': '1', 'attributeKey': 'A', 'modifyOperator': '=', 'modifyValue': deep})",
    "an emit of infinity": "await emit({'operationType': 'ModifyEntity', 'entityType': 'deal', 'entityId': '1', 'attributeKey': 'A', 'modifyOperator': '=', 'modifyValue': float('inf')})",
    "an emit of a function": "await emit({'operationType': 'CreateEntity', 'entityType': 'lead', 'entityId': 'a', 'initialAttributes': {'TITLE': emit}})",
    "an answer that is not awaited": "{'out': show('x')}",
    "a query of a list": "await query(['crm.deal.get'])",
    "a query with a number": "await query('crm.deal.get', 5)",
    "a query with names of numbers": "await query('crm.deal.get', {1: 2})",
    "an entity that is a list": "await get_entity([], 1)",
    "an entity without a number": "await get_entity('deal')",
    "an entity that there is not": "await get_entity('dragon', 1)",
    "a show of a number": "await show(5)",
    "a show in a strange mode": "await show('x', 'Explode')",
    "shows without end": "while True:\n    await show('x' * 100000)",
    "a block where there is none": "await get_block_raw_text('b')",
    "a player of a list": "{'out': await get_player_metadata(['name'])['x']}",
    "an unknown name": "{'out': emitt}",
    "no Python": "{'out': ",
    "a generator": "def count():\n    yield 1\n{'out': list(count())}",
    "sleeping": "import time\nwhile True:\n    time.sleep(1000)",
}  # fmt: skip
"""Scripts each of which must end its tuum as failed; they have the variable `given` and should give `out`."""
HARMLESS: dict[str, str] = {
    "half a character": "{'out': '\\ud800' and 1}",
    "a catastrophic expression": "import re\nre.match('(a+)+$', 'a' * 50 + 'b')\n{'out': 1}",
    "names of builtins": "len = 5\nsum = [len]\nprint = sum\n{'out': sum}",
    "a sleep": "import asyncio\nawait asyncio.sleep(1000)\n{'out': 1}",
    "a refused emit that is caught": "try:\n    await emit(5)\nexcept Exception:\n    pass\n{'out': 1}",
}
"""Scripts that look odd and end well, with no operation."""


def act(source: str) -> dict[str, Any]:
    """The fields of a tuum whose main script this is."""
    return {
        "promptRunes": [put("given", "дано")],
        "mainScript": code(source, consumes="given", produces="out"),
        "outputMappings": {"out": "out"},
    }


def _prompts(value: Any) -> dict[str, Any]:
    """The fields of a tuum that asks its model with this in place of a prompt."""
    return {"promptRunes": [put("Prompts", value)], "aiService": "tool", "outputMappings": {"out": "ai_final_output"}}


def _read(kind: str, text: Any, **fields: Any) -> dict[str, Any]:
    """The fields of a tuum whose rune reads a text."""
    return {"runes": [put("text", text), {"runeType": kind, "input": "text", "output": "out", **fields}], "outputMappings": {"out": "out"}}


FAILING_TUUMS: dict[str, dict[str, Any]] = {
    "a prompt that is a number": _prompts(5),
    "a prompt of numbers": _prompts([1]),
    "a prompt without content": _prompts([{"role": "User"}]),
    "a prompt of a strange role": _prompts([{"role": "Root", "content": "x"}]),
    "no prompt": _prompts([]),
    "a prompt rune behind a number": {**_prompts(5), "promptRunes": [put("Prompts", 5), {"runeType": "prompt", "template": "x"}]},
    "an expression that goes back and back": _read("regex", "a" * 40 + "b", pattern=r"^(?=(a+))(?:\1|a|aa)+$(?<!b)"),
    "an expression that cannot be read": _read("regex", "a", pattern="("),
    "a group that there is not": _read("regex", "abc", pattern="b", group=3),
    "a group without a name": _read("regex", "abc", pattern="b", group="x"),
    "a search in too much": _read("regex", "ab" * 300_000, pattern="a", isAll=True),
    "a value that doubles": {
        "runes": [put("out", "x" * 1000), *(put("out", "{{out}}{{out}}") for _ in range(20))],
        "outputMappings": {"out": "out"},
    },
    "a list that grows": {
        "runes": [put("out", ["x" * 1000]), *(put("out", ["{{out}}", "{{out}}"]) for _ in range(20))],
        "outputMappings": {"out": "out"},
    },
    "an operation on nobody": {
        "runes": [{"runeType": "operation", "operationType": "DeleteEntity", "entityType": "deal", "entityId": "{{nobody}}"}]
    },
}
"""Tuums that must fail by themselves."""
ODD_TEXTS: dict[str, str] = {
    "deep lists": ("[" * 100_000), "deep objects": ('{"a":' * 100_000), "brackets without end": ("[{" * 500_000),
    "fences": ("```json\n" * 100_000), "a number beyond all": "[1e999]", "a long number": ("1" * 10_000),
    "half a character": ('{"a": "\\ud800"}'), "one key twice": ('{"a": 1, "a": 2}'), "a NUL": ('["\\u0000"]'),
}  # fmt: skip
"""Texts of models out of which JSON is taken: whatever comes of it can be stored."""
