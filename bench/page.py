"""Writes the rows of `make bench` as a page of the documentation."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from bench.calibration import REFERENCE_MACHINE, format_bar

_SECTION: Final = "\n## "
_HOLDS: Final = {True: "yes", False: "**no**", None: ""}
_HEAD: Final = f"""# What was measured

Written by `make bench PAGE=docs/measured.md`. Nothing here is typed by hand, and no test asserts it.

* The rows of one group come from one run, whose day and machine stand above them. Peers run in the same run, so a ratio (x) says the same
  on another machine. A time or rate is judged after scaling by a loop of fixed work that runs before and after each group; `(x1.4)` beside
  a bar says that this machine was then 1.4 times slower than the one of reference
  ({REFERENCE_MACHINE}).
* `hold` is empty where a figure has no bar and is shown for what it tells. Why a bar does not hold is told by the decision on its subject:
  [0014](adr/0014-cost-of-a-turn.md) for a turn, [0042](adr/0042-safety-rules-once.md) for PostgreSQL.
* `make bench ONLY=ratio PAGE=docs/measured.md` measures one group again and leaves the others as they were.
"""


def write_page(rows: list[dict[str, Any]], path: Path, order: Sequence[str]) -> None:
    """Write each group of `rows` as a table; the page keeps its other groups of `order`. `rows` say their group, day and machine."""
    sections = _read_sections(path) | {name: _write_section(name, list(group)) for name, group in groupby(rows, key=_name_group)}
    path.write_text(_HEAD + "".join(sections[name] for name in order if name in sections), encoding="utf-8")


def _name_group(row: dict[str, Any]) -> str:
    return str(row["bench"])


def _read_sections(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    _, *sections = path.read_text(encoding="utf-8").split(_SECTION)
    return {text.partition("\n")[0]: _SECTION + text.rstrip("\n") + "\n" for text in sections}


def _write_section(name: str, rows: list[dict[str, Any]]) -> str:
    day, machine = rows[0]["day"], rows[0]["machine"]
    head = f"{_SECTION}{name}\n\nMeasured {day} on {machine}.\n\n| what | measured | bar | hold | beside it |\n|---|---|---|---|---|\n"
    return head + "".join(_list_lines(rows))


def _list_lines(rows: Iterable[dict[str, Any]]) -> Iterable[str]:
    for row in rows:
        cells = (row["name"], f"{row['value']} {row['unit']}", format_bar(row), _HOLDS[row["holds"]], row.get("versus", ""))
        yield "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |\n"
