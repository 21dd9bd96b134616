"""`make rows`: requirement rows without a test. Reads docs/requirements.md and the `req` marks of the tests; runs nothing."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROW = re.compile(r"^\| (?P<id>[A-Z]\d*(?:-[A-Z]?\d+)?) \| (?P<when>[^|]*) \| (?P<text>.*) \|$")


def listed() -> dict[str, tuple[str, str]]:
    """Row id → (issue or reason, sentence)."""
    found: dict[str, tuple[str, str]] = {}
    for line in (ROOT / "docs" / "requirements.md").read_text(encoding="utf-8").splitlines():
        match = ROW.match(line)
        if match:
            found[match["id"]] = (match["when"].strip(), match["text"].strip())
    return found


def marked() -> dict[str, list[str]]:
    """Row id → the test files that carry its mark."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for row in _marks(ast.parse(path.read_text(encoding="utf-8"))):
            found.setdefault(row, []).append(path.relative_to(ROOT).as_posix())
    return found


def _marks(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "req":
            yield from (arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str))


def main(arguments: list[str]) -> int:
    """Print the rows without a test; with --check only fail on marks that name no row."""
    rows, marks = listed(), marked()
    unknown = sorted(set(marks) - set(rows))
    if unknown:
        sys.stdout.write("marks that name no row of docs/requirements.md: " + ", ".join(unknown) + "\n")
        return 1
    if "--check" in arguments:
        return 0
    missing = {row: entry for row, entry in rows.items() if row not in marks}
    now = {row: entry for row, entry in missing.items() if entry[0] == "now"}
    for row, (_, text) in now.items():
        sys.stdout.write(f"{row}\t{text}\n")
    later = len(missing) - len(now)
    sys.stdout.write(f"{len(rows)} rows, {len(rows) - len(missing)} with a test, {len(now)} without, {later} not built yet\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
