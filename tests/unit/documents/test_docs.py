"""The examples on the pages about definitions and scripts are true."""

import re
from pathlib import Path

import pytest

from orchestrator.documents.reading import MAX_BYTES, read_document
from orchestrator.documents.reports import MAX_DEPTH, MAX_VALUES
from orchestrator.expressions.scripts.checking import ScriptChecker
from orchestrator.expressions.scripts.runner import ScriptLimits, ScriptRunner

DOCS = Path(__file__).resolve().parents[3] / "docs"
FORMAT, SCRIPTS = ((DOCS / name).read_text(encoding="utf-8") for name in ("definitions-format.md", "scripts.md"))


def list_examples(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


@pytest.mark.req("S000-62")
def test_the_examples_in_json_and_yaml_mean_the_same() -> None:
    (in_json,), (in_yaml, texts) = list_examples(FORMAT, "json"), list_examples(FORMAT, "yaml")
    readings = [read_document(text) for text in (in_json, in_yaml)]
    assert [one.findings for one in readings] == [(), ()]
    assert readings[0].require_document().data == readings[1].require_document().data
    read = read_document(texts).require_document().data
    assert [f"{key}: {value}" for key, value in read.items()] == texts.splitlines()


@pytest.mark.parametrize(
    "text",
    [
        "[01]",
        "[+1]",
        "[.5]",
        "[0x1F]",
        "['text']",
        "[“text”]",
        "[«text»]",
        "[True]",
        "[None]",
        "[NaN]",
        "[Infinity]",
        "[1e999]",
        '["\\ud800"]',
        "a: .inf",
        "a: !!python/object:x",
        "a: !include x",
        "a: &a 1",
        "? [a]\n: 1",
        "a: 1\n---\nb: 1",
        "a:\n\tb: 1",
        "<<: {a: 1}",
    ],
)
def test_what_the_page_calls_refused_is_refused(text: str) -> None:
    assert read_document(text).document is None


def test_the_limits_on_the_pages_are_those_of_the_program() -> None:
    assert f"{MAX_BYTES:,} bytes, {MAX_VALUES:,} values, {MAX_DEPTH} levels" in FORMAT
    limits = ScriptLimits()
    rows = {
        "computing time": f"{limits.seconds:g} s",
        "time with that of its functions and of waiting": f"{limits.total_seconds:g} s",
        "memory": f"{limits.memory_bytes // 1_000_000} MB",
        "functions inside functions": str(limits.depth),
        "calls of given functions": str(limits.calls),
        "prints": f"{limits.print_bytes:,} bytes",
        "result": f"{limits.result_values:,} values, {limits.result_signs:,} characters",
        "the script itself": f"{limits.source_signs:,} characters",
    }
    for what, figure in rows.items():
        assert f"| {what} | {figure} |" in SCRIPTS


async def test_the_scripts_on_the_page_give_what_it_says() -> None:
    first, second, _ = list_examples(SCRIPTS, "python")
    with ScriptChecker() as checker:
        assert checker.check(first, ["deals"]) == ()
    async with ScriptRunner(workers=1) as runner:
        deals = [{"stage": "won", "sum": 150000}, {"stage": "lost", "sum": 1}]
        result = await runner.run(first, {"deals": deals})
        assert (result.value.data, result.printed) == ({"total": 150000, "is_large": True}, "won: 150000\n")
        assert (await runner.run(second, {}, {"find": lambda key: key})).value.data == ["a", "b"]
        modules = "import re, json, math, datetime, random, asyncio\n1"
        assert (await runner.run(modules, {})).value.data == 1
