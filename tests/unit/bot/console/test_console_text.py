"""Foreign text on pages of the console is text: how the code is written, and what a page then holds (C-4, C-39)."""

import ast
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.console.widgets import LONGEST, cut_text
from tests.unit.bot.console.console_kit import OLGA, a_console

ROOT = Path(__file__).resolve().parents[4] / "bot" / "console"
READS_MARKUP = {"html", "markdown", "add_body_html", "add_css", "restructured_text", "interactive_image", "chat_message", "mermaid", "log"}
"""Functions of NiceGUI that take HTML, Markdown, SVG or a diagram."""
ALLOWED = {("charts.py", "mermaid")}
"""The one place that draws diagrams escapes what stands in them."""
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "**bold** [x](javascript:alert(1))",
    "\u202eevil",
    "${alert(1)}`",
]


def _trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(ROOT.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def _list_constants(tree: ast.Module) -> set[str]:
    """The names that a module gives a value when it is imported: nobody's text is known then."""
    given = [node for node in tree.body if isinstance(node, ast.AnnAssign | ast.Assign)]
    return {ast.unparse(node.target if isinstance(node, ast.AnnAssign) else node.targets[0]) for node in given}


@pytest.mark.req("C-4")
def test_no_page_shows_text_as_markup() -> None:
    """Nothing of NiceGUI that reads markup is used, but the one drawer of diagrams; no slot has a template of HTML."""
    found = set()
    for path, tree in _trees():
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Attribute)
                and node.attr in READS_MARKUP
                and isinstance(node.value, ast.Name)
                and node.value.id in {"ui", "elements"}
            ):
                found.add((path.name, node.attr))
            if isinstance(node, ast.keyword) and node.arg in {"html", "sanitize"}:
                found.add((path.name, node.arg))
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(r"v-html|innerHTML|text/html;", node.value):
                found.add((path.name, node.value[:40]))

    assert found <= ALLOWED


@pytest.mark.req("C-4")
def test_scripts_of_pages_are_fixed_or_carry_json() -> None:
    """What is run in the browser is a literal, or a literal with arguments that were made to JSON."""
    odd = []
    for path, tree in _trees():
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "run_javascript"):
                continue
            [code] = node.args
            parts = code.values if isinstance(code, ast.JoinedStr) else [code]
            for part in parts:
                made = part.value if isinstance(part, ast.FormattedValue) else part
                is_json = isinstance(made, ast.Call) and ast.unparse(made.func) in {"json.dumps", "dumps"}
                safe = isinstance(made, ast.Constant) or is_json or (isinstance(made, ast.Name) and made.id in _list_constants(tree))
                odd += [] if safe else [(path.name, ast.unparse(code))]

    assert not odd


@pytest.mark.req("C-39")
@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_name_stands_in_the_page_escaped(tmp_path: Path, name: str) -> None:
    """The name of the person is in every page: no browser can take it for markup or for code."""
    person = OLGA.model_copy(update={"name": name})
    async with a_console(tmp_path, people=(person,)) as made:
        answer = await made.get("/", person)

        assert name not in answer.text or not re.search(r"[<`$]", name)
        [elements] = re.findall(r"parseElements\(String.raw`(.*?)`\)", answer.text, re.DOTALL)
        assert name in [
            one.get("text") for one in json.loads(html.unescape(elements)).values() if isinstance(one, dict)
        ] or name in html.unescape(elements)
        assert "<" not in elements
        assert "`" not in elements


@pytest.mark.req("C-39")
def test_a_text_of_a_megabyte_is_cut_and_says_so() -> None:
    """A page never carries more of one text than it can show."""
    assert len(cut_text("x" * 1_000_000)) == LONGEST + 1
    assert cut_text("x" * 1_000_000).endswith("…")
    assert cut_text("short") == "short"
