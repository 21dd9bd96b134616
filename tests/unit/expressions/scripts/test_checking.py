"""Scripts are checked without running them."""

from collections.abc import Iterator

import pytest

from orchestrator.expressions.scripts.checking import ScriptChecker
from orchestrator.expressions.scripts.failures import ScriptFailed


@pytest.fixture(scope="module")
def checker() -> Iterator[ScriptChecker]:
    with ScriptChecker() as checker:
        yield checker


def test_a_check_finds_mistakes_without_running_the_script(checker: ScriptChecker) -> None:
    source = "import os\nx = deal['a'] + 1\ny = dael\nz = await fetch(nope)\nprint('run!')\nq = 1 + 'a'\nimport foo"
    found = checker.check(source, ["deal"], ["fetch"])
    assert [(one.code.removeprefix("finding-script-"), one.line, one.column, one.severity, one.suggestion) for one in found] == [
        ("name", 3, 5, "error", "deal"),
        ("name", 4, 17, "error", ""),
        ("doubtful", 6, 5, "warning", ""),
        ("unsupported", 7, 8, "error", ""),
    ]


@pytest.mark.parametrize(("source", "codes"), [
    ("x = 1\nx + 1", []), ("if True:\n    return 1\n2", []), ("", []), ("def f(:", ["syntax", "syntax"]), ("x = '", ["syntax"]),
    ("x" * 30_000, ["long"]), ("'\ud800'", ["syntax"]), ("(" * 10_000, ["syntax"]),
])  # fmt: skip
def test_a_check_of_a_script(checker: ScriptChecker, source: str, codes: list[str]) -> None:
    assert [one.code.removeprefix("finding-script-") for one in checker.check(source)] == codes


@pytest.mark.parametrize(("source", "lines"), [
    ("await find(1)\nx = 1", []), ("x = find(1)\nawait x", []), ("import asyncio\nawait asyncio.gather(find(1), find(2))", []),
    ("x = 1\nfind(x)\n{}", [2]), ("def ask():\n    find(1)\nask()\n{}", [2]), ("async def ask():\n    await find(1)\nask()\n{}", [3]),
])  # fmt: skip
def test_a_call_without_await_is_a_mistake(checker: ScriptChecker, source: str, lines: list[int]) -> None:
    """Whatever goes wrong in it would be lost, and the script would go on."""
    found = [one for one in checker.check(source, functions=["find"]) if one.severity == "error"]
    assert [(one.code, one.line) for one in found] == [("finding-script-unawaited", line) for line in lines]


def test_a_check_has_the_lines_of_the_script(checker: ScriptChecker) -> None:
    """Also where the text cannot be read at all."""
    assert [(one.line, one.column) for one in checker.check("x = 1\ny = " + "(" * 10_000)] == [(2, 205)]


@pytest.mark.parametrize("name", ["class", "a b", "", "ﬁrst", "1"])
def test_a_name_that_a_script_cannot_read_is_not_given_to_the_check(checker: ScriptChecker, name: str) -> None:
    """It would be a mistake of what the check is told, not of the script."""
    assert checker.check("x", [name, "x"]) == ()


def test_a_check_without_a_process_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """And finds nothing right or wrong."""

    def start(*_args: object, **_named: object) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr("orchestrator.expressions.scripts.checking.Monty", start)
    with ScriptChecker() as checker, pytest.raises(ScriptFailed, match="no more processes"):
        checker.check("1")
