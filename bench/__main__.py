"""`make bench`: measure, print a table, write bench/results.jsonl. `--only NAME` runs one. Nothing here is asserted by a test.

Absolute bars are scaled by how quick the machine is (`bench.calibration`); the table shows the bar that was judged by, and the factor.
"""

import argparse
import asyncio
import datetime as dt
import os
import platform
import sys
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bench.bulk import bulk_benches
from bench.calibration import Calibration, format_bar, judge_row
from bench.changes import change_benches
from bench.console import console_benches
from bench.definitions import definition_benches
from bench.expressions import expression_benches
from bench.flows import flow_benches
from bench.history import history_benches
from bench.http_chat import http_benches
from bench.idle import idle_benches
from bench.journal import journal_benches
from bench.numbers import number_benches
from bench.page import write_page
from bench.people import people_benches
from bench.pictures import picture_benches
from bench.postgres import postgres_benches
from bench.prompt import prompt_benches
from bench.rag import rag_benches
from bench.runs import run_benches
from bench.scenarios import scenario_benches
from bench.scripts import script_benches
from bench.sessions import session_benches
from bench.stairs import stairs_benches
from bench.tokens import token_benches
from bench.turn import turn_benches
from bench.turn_ratio import ratio_benches
from bench.workflows import workflow_benches

BENCHES = {
    "turn": turn_benches,
    "ratio": ratio_benches,
    "stairs": stairs_benches,
    "prompt": prompt_benches,
    "journal": journal_benches,
    "history": history_benches,
    "people": people_benches,
    "sessions": session_benches,
    "postgres": postgres_benches,
    "bulk": bulk_benches,
    "changes": change_benches,
    "numbers": number_benches,
    "runs": run_benches,
    "definitions": definition_benches,
    "scenarios": scenario_benches,
    "flows": flow_benches,
    "workflows": workflow_benches,
    "expressions": expression_benches,
    "scripts": script_benches,
    "tokens": token_benches,
    "rag": rag_benches,
    "http": http_benches,
    "idle": idle_benches,
    "console": console_benches,
    "pictures": picture_benches,
}
Bench = Callable[[], Awaitable[list[dict[str, Any]]]]


def main() -> int:
    """Run the chosen benches and print what they say."""
    parser = argparse.ArgumentParser(prog="bench")
    parser.add_argument("--only", choices=sorted(BENCHES))
    parser.add_argument("--page", type=Path, help="write the rows there as well, as Markdown; it keeps its other groups")
    arguments = parser.parse_args()
    chosen = arguments.only
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    day = dt.datetime.now(dt.UTC).date().isoformat()
    rows: list[dict[str, Any]] = []
    for name, bench in BENCHES.items():
        if chosen in {None, name}:
            print(f"{name} ...", file=sys.stderr, flush=True)
            calibration = Calibration()
            calibration.take_samples()
            measured = asyncio.run(_run_bench(name, bench))
            calibration.take_samples()
            rows.extend({**judge_row(row, calibration.factor), "machine": machine, "day": day, "bench": name} for row in measured)
    print(f"{'name':46} {'value':>8} {'unit':5} {'bar':>18} {'holds':5} beside it")
    for row in rows:
        holds = {True: "yes", False: "NO", None: "-"}[row["holds"]]
        print(f"{row['name']:46} {row['value']:>8} {row['unit']:5} {format_bar(row):>18} {holds:5} {row.get('versus', '')}")
    if arguments.page is not None:
        write_page(rows, arguments.page, list(BENCHES))
    return 0


async def _run_bench(name: str, bench: Bench) -> list[dict[str, Any]]:
    """Return the rows of one bench. One that breaks off is a row that does not hold: the others need half an hour and are worth keeping."""
    try:
        return await bench()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told and the next bench runs
        traceback.print_exc()
        return [
            {"name": f"{name} broke off", "value": 0, "unit": "", "bar": "", "holds": False, "versus": f"{type(error).__name__}: {error}"}
        ]


if __name__ == "__main__":
    sys.exit(main())
