"""Writes the rows of one run of `make bench` as a page of the documentation."""

import datetime as dt
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from bench.calibration import REFERENCE_MACHINE, format_bar

_HOLDS: Final = {True: "yes", False: "**no**", None: ""}
_HEAD: Final = """# What was measured

Written by `make bench PAGE=docs/measured.md` from one run: {day}, {machine}. Nothing here is typed by hand, and no test asserts it.

* Peers run in the same run, so a ratio (x) says the same on another machine. A time or rate is judged after scaling by a loop of fixed work
  that runs before and after each group; `(x1.4)` beside a bar says that this machine was then 1.4 times slower than the one of reference
  ({reference}).
* `hold` is empty where a figure has no bar and is shown for what it tells. Why a bar does not hold is told by the decision on its subject:
  [0014](adr/0014-cost-of-a-turn.md) for a turn, [0042](adr/0042-safety-rules-once.md) for PostgreSQL.
* `make bench ONLY=ratio` measures one group again.
"""


def write_page(rows: list[dict[str, Any]], path: Path) -> None:
    """Write the rows, in their order, as one table for each group of measurements; `rows` have `bench`, the name of their group."""
    machine = str(rows[0]["machine"]) if rows else "nothing measured"
    parts = [_HEAD.format(day=dt.datetime.now(dt.UTC).date().isoformat(), machine=machine, reference=REFERENCE_MACHINE)]
    for name, group in groupby(rows, key=lambda row: str(row["bench"])):
        parts.append(f"\n## {name}\n\n| what | measured | bar | hold | beside it |\n|---|---|---|---|---|\n" + "".join(_list_lines(group)))
    path.write_text("".join(parts), encoding="utf-8")


def _list_lines(rows: Iterable[dict[str, Any]]) -> Iterable[str]:
    for row in rows:
        cells = (row["name"], f"{row['value']} {row['unit']}", format_bar(row), _HOLDS[row["holds"]], row.get("versus", ""))
        yield "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |\n"
