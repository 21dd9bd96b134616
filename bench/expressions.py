"""What conditions and placeholders cost, and that every hostile condition of the tests' corpus is refused within a second.

The condition is the one with which other evaluators were measured, its variables are built anew each time. Beside it stands what bare
`eval` of the compiled code makes of the same text in the same run; nothing that people write may be given to it, it is only the yardstick.
"""

import asyncio
import time
import timeit
from collections.abc import Callable
from typing import Any

from orchestrator.domain.finding import DefinitionRefused
from orchestrator.domain.taint import Value
from orchestrator.expressions.conditions import ConditionFailed, compile_condition
from orchestrator.expressions.placeholders import SCENARIO, Template
from tests.unit.expressions.hostile_kit import build_names, read_hostile

CONDITION = "context.get('user_age', 0) >= 18 and plan in ['pro', 'max']"
TRIES = 5
TIMES = 100_000


async def expression_benches() -> list[dict[str, Any]]:
    """Conditions compiled and evaluated, a parameter filled, and the hostile cases."""
    return await asyncio.to_thread(_measure)


def _measure() -> list[dict[str, Any]]:
    compiled, code = compile_condition(CONDITION), compile(CONDITION, "condition", "eval")
    template = Template({"to": "{deal.manager}", "text": "Сделка {deal.title}: {deal.sum} ({n})"}, SCENARIO)
    names = {"deal": Value({"title": "Ромашка", "sum": 150000, "manager": 7}), "n": Value(5)}

    def evaluate() -> None:
        compiled.evaluate({"user_age": 20, "plan": "pro"})

    def evaluate_bare() -> None:
        context = {"user_age": 20, "plan": "pro"}
        eval(code, {"context": context, "plan": "pro", "__builtins__": {}})  # noqa: S307 - the yardstick; the text stands above

    def compile_one() -> None:
        compile_condition(CONDITION)

    def fill() -> None:
        template.fill(names)

    ours, bare = _count(evaluate, TIMES), _count(evaluate_bare, TIMES)
    values, slowest, cases = _try_hostile()
    return [
        _row(
            "condition: compiled, evaluated",
            ours,
            "1/s",
            ">= 500000",
            holds=ours >= 500_000,
            versus=f"bare eval {bare}/s: {ours / bare:.2f}",
        ),
        _row("condition: compiled anew", _count(compile_one, TIMES // 50), "1/s", ""),
        _row("placeholders: two parameters filled", _count(fill, TIMES // 10), "1/s", ""),
        _row("condition: hostile cases with a value", values, "", "0", holds=values == 0, versus=f"{cases} cases"),
        _row("condition: slowest hostile case", round(slowest * 1000, 1), "ms", "<= 1000", holds=slowest <= 1),
    ]


def _count(do: Callable[[], None], times: int) -> int:
    """Return how often a second `do` runs, in the best of several tries."""
    return round(times / min(timeit.repeat(do, number=times, repeat=TRIES)))


def _try_hostile() -> tuple[int, float, int]:
    """Return how many hostile cases gave a value, how many seconds the slowest took, and how many there are."""
    sources, values, slowest = read_hostile(), 0, 0.0
    for source in sources:
        begun = time.perf_counter()
        try:
            compile_condition(source).evaluate(build_names())
        except (DefinitionRefused, ConditionFailed):
            pass
        else:
            values += 1
        slowest = max(slowest, time.perf_counter() - begun)
    return values, slowest, len(sources)


def _row(name: str, value: float, unit: str, bar: str, *, holds: bool | None = None, versus: str = "") -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "bar": bar, "holds": holds, "versus": versus}
