"""`make style`: how far the shipped code is from the house style, before and now. Options: --where NAME, --json, --check, --record, --root DIR."""

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.style_counting import (
    GROUPS,
    LARGE,
    SMALL,
    VAGUE,
    Place,
    Source,
    begins_with,
    find_any,
    find_cyrillic,
    find_functions,
    find_string_keys,
    load_sources,
    load_verbs,
    measure_sources,
)

HERE = Path(__file__).resolve().parent
BEFORE = HERE / "style_before.json"
VERBS = HERE / "style_verbs.txt"
KITS = ("", "tests", "tests/unit", "tests/unit/bot")
"""Folders of the repository on the path of the traced process, where the tests' own modules are found."""


@dataclass(frozen=True)
class Row:
    """A line of the table; without `sign` there is no bar, and `limit` None means the figure of the first edition."""

    key: str
    title: str
    sign: str = ""
    limit: float | None = None

    def bar(self, before: Mapping[str, float]) -> float | None:
        """The figure that must be kept; None where there is none."""
        return (before.get(self.key) if self.limit is None else self.limit) if self.sign else None

    def holds(self, now: float, before: Mapping[str, float]) -> bool:
        """Whether the figure keeps its bar."""
        bar = self.bar(before)
        return bar is None or (now <= bar if self.sign == "<=" else now >= bar)


def _per_thousand(name: str, title: str, limit: float) -> tuple[Row, ...]:
    """One row for each group of packages; the bar stands for the first."""
    bars = [("<=", limit), *[("", None)] * (len(GROUPS) - 1)]
    labels = ["+".join(group) for group in GROUPS]
    return tuple(Row(f"{name} {label}", f"{title} per 1,000 lines, {label}", *bar) for label, bar in zip(labels, bars, strict=True))


ROWS = (
    *_per_thousand("keys", "string keys", 15),
    *_per_thousand("any", "Any", 5),
    Row("verbs", "public functions that begin with a verb, %", ">=", 60),
    Row("vague", "  of them with get, do, handle, process, make, %", "<=", 10),
    Row("docstrings", "public functions with a docstring, %"),
    Row("small", f"files of at most {SMALL} lines, without empty __init__.py", "<=", 60),
    Row("small all", f"files of at most {SMALL} lines, all"),
    Row("large", f"files of more than {LARGE} lines"),
    Row("function median", "lines of a function, median"),
    Row("function p90", "lines of a function, p90", "<=", 20),
    Row("function max", "lines of a function, max"),
    Row("statements", "statements, without docstrings"),
    Row("running", "  of them that run: no import, class or declared field"),
    Row("cyrillic", "string literals with Cyrillic letters that somebody reads", "<=", 0),
    Row("files", "files"),
    Row("lines", "lines"),
    Row("trace files", "files that one typed sentence enters"),
    Row("trace moves", "  calls from one folder to another on its way"),
)


def run_trace(root: Path) -> dict[str, dict[str, int]]:
    """What one typed sentence enters, measured in a process of its own: {"files": {path: calls}, "moves": {"from -> to": calls}}.

    Raises RuntimeError with the end of its output where the sentence leads to no card.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(root / folder) for folder in KITS)}
    order = [sys.executable, str(HERE / "style_trace.py"), str(root)]
    done = subprocess.run(order, cwd=root, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the traced sentence failed:\n{done.stderr[-2000:]}")
    found: dict[str, dict[str, int]] = json.loads(done.stdout)
    return found


def measure(root: Path) -> dict[str, float]:
    """All figures of a working tree; those of the trace are missing where the sentence cannot be driven."""
    figures = measure_sources(load_sources(root), load_verbs(VERBS.read_text(encoding="utf-8")))
    try:
        trace = run_trace(root)
    except RuntimeError as error:
        sys.stderr.write(f"{error}\n")
        return figures
    return {**figures, "trace files": len(trace["files"]), "trace moves": sum(trace["moves"].values())}


def format_table(now: Mapping[str, float], before: Mapping[str, float]) -> str:
    """The table as text."""
    width = max(len(row.title) for row in ROWS)
    lines = [f"{'':{width}}  {'before':>8}  {'now':>8}  {'bar':>8}  holds"]
    for row in ROWS:
        bar, figure = row.bar(before), now.get(row.key)
        verdict = "" if not row.sign else "-" if figure is None else "yes" if row.holds(figure, before) else "NO"
        limit = "" if bar is None else f"{row.sign} {bar:,.10g}"
        lines.append(f"{row.title:{width}}  {_number(before.get(row.key)):>8}  {_number(figure):>8}  {limit:>8}  {verdict}".rstrip())
    return "\n".join(lines) + "\n"


def _number(figure: float | None) -> str:
    return "-" if figure is None else f"{figure:,.10g}"


def _unverbed(source: Source) -> Iterator[Place]:
    verbs = load_verbs(VERBS.read_text(encoding="utf-8"))
    return (
        Place(item.path, item.line, item.name) for item in find_functions(source) if item.is_public and not begins_with(item.name, verbs)
    )


def _vague(source: Source) -> Iterator[Place]:
    return (Place(item.path, item.line, item.name) for item in find_functions(source) if item.is_public and begins_with(item.name, VAGUE))


def _undocumented(source: Source) -> Iterator[Place]:
    return (Place(item.path, item.line, item.name) for item in find_functions(source) if item.is_public and not item.has_docstring)


def _long(source: Source) -> Iterator[Place]:
    return (Place(item.path, item.line, f"{item.name}: {item.lines}") for item in find_functions(source) if item.lines > 20)


PLACES: dict[str, Callable[[Source], Iterator[Place]]] = {
    "keys": find_string_keys,
    "any": find_any,
    "verbs": _unverbed,
    "vague": _vague,
    "docstrings": _undocumented,
    "functions": _long,
    "cyrillic": find_cyrillic,
}
"""What --where lists by places; "small" and "large" list files by their lines, "trace" what the sentence enters."""


def describe_places(name: str, root: Path) -> Iterator[str]:
    """The lines of --where: files with the most places first, or for files by size the extreme first."""
    if name == "trace":
        for kind, found in run_trace(root).items():
            yield from (f"{count:6}  {kind[:-1]} {label}" for label, count in sorted(found.items(), key=lambda item: -item[1]))
        return
    sources = load_sources(root)
    if name in {"small", "large"}:
        chosen = [
            source
            for source in sources
            if (source.lines > LARGE if name == "large" else source.lines <= SMALL and not source.is_empty_init)
        ]
        sign = -1 if name == "large" else 1
        yield from (f"{source.lines:6}  {source.path}" for source in sorted(chosen, key=lambda source: sign * source.lines))
        return
    found = {source.path: sorted(PLACES[name](source), key=lambda place: place.line) for source in sources}
    for path, places in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
        if places:
            yield f"{len(places):6}  {path}"
            yield from (f"          {place.line}: {place.text[:100]}" for place in places)


def main(arguments: list[str]) -> int:
    """Print the table or what the options ask for; the code is 1 only with --check and a bar that does not hold."""
    parser = argparse.ArgumentParser(prog="tests.style", description="Measures the shipped code against the house style.")
    parser.add_argument("--where", choices=[*PLACES, "small", "large", "trace"], help="list the places of one measure, worst file first")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a bar does not hold")
    parser.add_argument("--record", action="store_true", help="keep the figures as those of the first edition")
    parser.add_argument("--root", type=Path, default=HERE.parent, help="another working tree to measure")
    chosen = parser.parse_args(arguments)
    if chosen.where:
        sys.stdout.writelines(f"{line}\n" for line in describe_places(chosen.where, chosen.root))
        return 0
    now = measure(chosen.root)
    if chosen.record:
        BEFORE.write_text(json.dumps(now, indent=2) + "\n", encoding="utf-8")
    before = json.loads(BEFORE.read_text(encoding="utf-8"))
    sys.stdout.write(json.dumps(now, indent=2) + "\n" if chosen.json else format_table(now, before))
    broken = [row for row in ROWS if not row.holds(now.get(row.key, float("nan")), before)]
    return 1 if chosen.check and broken else 0


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it quietly
    sys.exit(main(sys.argv[1:]))
