"""`make style`: how far the shipped code is from the house style, before and now. Options: --where NAME, --json, --check, --record, --root DIR."""

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

from tests.style_counting import (
    GROUPS,
    LARGE,
    LONGEST,
    NAMING,
    SMALL,
    VAGUE,
    Place,
    begins_with,
    find_any,
    find_cyrillic,
    find_empty_names,
    find_functions,
    find_hidden_imports,
    find_lonely,
    find_string_keys,
    is_shard,
    load_verbs,
    measure_sources,
    rank_names,
)
from tests.style_sources import Source, load_sources

HERE = Path(__file__).resolve().parent
BEFORE = HERE / "style_before.json"
VERBS = HERE / "style_verbs.txt"
COMMONEST = 40
"""How many names of values are told, the commonest first."""
KITS = ("", "tests", "tests/unit", "tests/unit/bot")
"""Folders of the repository on the path of the traced process, where the tests' own modules are found."""


@dataclass(frozen=True)
class Row:
    """A line of the table; without `sign` there is no bar, and `limit` None means the figure of before."""

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


def _list_group_rows(name: str, title: str, groups: Sequence[Sequence[str]], limit: float | None = None) -> tuple[Row, ...]:
    """One row for each group of packages; the bar stands for the first, which has them together."""
    labels = ["+".join(group) for group in groups]
    return tuple(Row(f"{name} {label}", f"{title}, {label}", "" if at else "<=", limit) for at, label in enumerate(labels))


TRACED = (
    Row("trace files", "files that one typed sentence enters"),
    Row("trace moves", "  calls from one folder to another on its way, by the map of before"),
)
ROWS = (
    *_list_group_rows("keys", "string keys per 1,000 lines of code", GROUPS, 25),
    *_list_group_rows("any", "Any per 1,000 lines of code", GROUPS),
    *_list_group_rows("names", "values with empty names, %", NAMING, 2),
    Row("names dull", "values called item, value, result, data, obj, entry, thing, %", "<="),
    Row("verbs", "public functions that begin with a verb, %", ">=", 60),
    Row("vague", "  of them with get, do, handle, process, make, %", "<=", 10),
    Row("function median", "lines of a function, median"),
    Row("function p90", "lines of a function, p90", "<=", 20),
    Row("function max", "lines of a function, max", "<="),
    Row("function long", f"functions of more than {LONGEST} lines", "<="),
    Row("shards", f"files of at most {SMALL} lines, without empty __init__.py, features, plugins, faces, events, %", "<=", 10),
    Row("small", "  with features, plugins, faces, %"),
    Row("lonely", "files that one other imports, %", "<="),
    Row("large", f"files of more than {LARGE} lines", "<=", 4),
    Row("hidden imports", "imports inside of functions", "<=", 60),
    Row("cyrillic", "string literals with Cyrillic letters that somebody reads", "<="),
    Row("docstring words", "words of docstrings per 100 lines", "<=", 90),
    Row("code lines", "lines of code, without blanks, comments, docstrings, imports"),
    Row("files", "files"),
    Row("lines", "lines"),
    *TRACED,
)


def run_trace(root: Path) -> dict[str, dict[str, int]]:
    """What one typed sentence enters, measured in a process of its own: {"files": {path: calls}, "moves": {"from -> to": calls}}.

    Raises RuntimeError with the end of its output where the sentence leads to no card.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(root / folder) for folder in KITS)}
    order = [sys.executable, str(HERE / "style_trace.py"), str(root)]
    process = subprocess.run(order, cwd=root, env=environment, capture_output=True, text=True, check=False)
    if process.returncode:
        raise RuntimeError(f"the traced sentence failed:\n{process.stderr[-2000:]}")
    trace: dict[str, dict[str, int]] = json.loads(process.stdout)
    return trace


def measure_statically(root: Path) -> dict[str, float]:
    """All figures of a working tree but those of the trace."""
    return measure_sources(load_sources(root), load_verbs(VERBS.read_text(encoding="utf-8")))


def measure_trace(root: Path) -> dict[str, float]:
    """The figures of the trace; none where the sentence cannot be driven, and its reason is printed."""
    try:
        trace = run_trace(root)
    except RuntimeError as error:
        sys.stderr.write(f"{error}\n")
        return {}
    return {"trace files": len(trace["files"]), "trace moves": sum(trace["moves"].values())}


def format_table(rows: Sequence[Row], now: Mapping[str, float], before: Mapping[str, float]) -> str:
    """The table as text."""
    width = max(len(row.title) for row in rows)
    lines = [f"{'':{width}}  {'before':>8}  {'now':>8}  {'bar':>8}  holds"]
    for row in rows:
        bar, figure = row.bar(before), now.get(row.key)
        verdict = "" if bar is None else "-" if figure is None else "yes" if row.holds(figure, before) else "NO"
        limit = "" if bar is None else f"{row.sign} {bar:,.10g}"
        lines.append(f"{row.title:{width}}  {_number(before.get(row.key)):>8}  {_number(figure):>8}  {limit:>8}  {verdict}".rstrip())
    return "\n".join(lines) + "\n"


def _number(figure: float | None) -> str:
    return "-" if figure is None else f"{figure:,.10g}"


def _unverbed(source: Source) -> Iterator[Place]:
    verbs = load_verbs(VERBS.read_text(encoding="utf-8"))
    functions = (function for function in find_functions(source) if function.is_public)
    return (Place(function.path, function.line, function.name) for function in functions if not begins_with(function.name, verbs))


def _vague(source: Source) -> Iterator[Place]:
    functions = (function for function in find_functions(source) if function.is_public)
    return (Place(function.path, function.line, function.name) for function in functions if begins_with(function.name, VAGUE))


def _long(source: Source) -> Iterator[Place]:
    functions = (function for function in find_functions(source) if function.lines > 20)
    return (Place(function.path, function.line, f"{function.name}: {function.lines}") for function in functions)


PLACES: dict[str, Callable[[Source], Iterator[Place]]] = {
    "keys": find_string_keys,
    "any": find_any,
    "names": find_empty_names,
    "verbs": _unverbed,
    "vague": _vague,
    "functions": _long,
    "hidden": find_hidden_imports,
    "cyrillic": find_cyrillic,
}
"""What --where lists by places; "small", "large" and "lonely" list files with their lines, "trace" what the sentence enters."""


def describe_places(name: str, root: Path) -> Iterator[str]:
    """The lines of --where: files with the most places first, or for files by size the extreme first."""
    if name == "trace":
        for kind, counts in run_trace(root).items():
            yield from (f"{count:6}  {kind[:-1]} {label}" for label, count in sorted(counts.items(), key=lambda item: -item[1]))
        return
    sources = load_sources(root)
    if name in {"shards", "large", "lonely"}:
        yield from (f"{source.lines:6}  {source.path}" for source in _choose_files(name, sources))
        return
    by_path = {source.path: sorted(PLACES[name](source), key=lambda place: place.line) for source in sources}
    for path, places in sorted(by_path.items(), key=lambda item: (-len(item[1]), item[0])):
        if places:
            yield f"{len(places):6}  {path}"
            yield from (f"          {place.line}: {place.text[:100]}" for place in places)


def _choose_files(name: str, sources: Sequence[Source]) -> list[Source]:
    by_size = sorted(sources, key=lambda source: source.lines)
    if name == "large":
        return [source for source in reversed(by_size) if source.lines > LARGE]
    if name == "shards":
        return [source for source in by_size if is_shard(source)]
    lonely = frozenset(find_lonely(sources))
    return [source for source in by_size if source.path in lonely]


def main(arguments: list[str]) -> int:
    """Print the table or what the options ask for; with --check only the rows whose bars do not hold, and then the code is 1."""
    parser = argparse.ArgumentParser(prog="tests.style", description="Measures the shipped code against the house style.")
    measures = [*PLACES, "shards", "large", "lonely", "trace"]
    parser.add_argument("--where", choices=measures, help="list the places of one measure, worst file first")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument(
        "--check", action="store_true", help="print the bars that do not hold, without the trace; exit with 1 if there are any"
    )
    parser.add_argument("--record", action="store_true", help="keep the figures as those of before")
    parser.add_argument("--root", type=Path, default=HERE.parent, help="another working tree to measure")
    options = parser.parse_args(arguments)
    if options.where:
        sys.stdout.writelines(f"{line}\n" for line in describe_places(options.where, options.root))
        return 0
    now = measure_statically(options.root)
    if options.check:
        return _check(now)
    now |= measure_trace(options.root)
    if options.record:
        BEFORE.write_text(json.dumps(now, indent=2) + "\n", encoding="utf-8")
    if options.json:
        sys.stdout.write(json.dumps(now, indent=2) + "\n")
        return 0
    names = ", ".join(f"{name} {count}" for name, count in rank_names(load_sources(options.root), COMMONEST))
    sys.stdout.write(f"{format_table(ROWS, now, _load_before())}\n{fill(f'The {COMMONEST} commonest names of values: {names}.', 140)}\n")
    return 0


def _check(now: Mapping[str, float]) -> int:
    before = _load_before()
    broken = [row for row in ROWS if row.key in now and not row.holds(now[row.key], before)]
    if broken:
        sys.stdout.write(f'{format_table(broken, now, before)}`make style` has the whole table, ARGS="--where …" the places.\n')
    return 1 if broken else 0


def _load_before() -> dict[str, float]:
    figures: dict[str, float] = json.loads(BEFORE.read_text(encoding="utf-8"))
    return figures


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it quietly
    sys.exit(main(sys.argv[1:]))
