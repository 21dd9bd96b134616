"""Text on pages of the console: foreign one stays text (C-4, C-39), all can be read in both themes, and pages stay quick to build."""

import ast
import asyncio
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import bot.console
from bot.console import app as console_app
from bot.console.widgets import LONGEST, cut_text
from tests.unit.bot.console.console_kit import OLGA, ConsoleWorld, a_console
from tests.unit.bot.console.talk_kit import put_turn
from tests.unit.spine_kit import until

ROOT = Path(__file__).resolve().parents[4] / "bot" / "console"
READS_MARKUP = {"html", "markdown", "add_body_html", "add_css", "restructured_text", "interactive_image", "chat_message", "mermaid", "log"}
"""Functions of NiceGUI that take HTML, Markdown, SVG or a diagram."""
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
    """Nothing of NiceGUI that reads markup is used, and no diagrams; no slot has a template of HTML."""
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

    assert not found


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


STATIC = Path(bot.console.__file__).parent / "static"
TEXT, CONTROL = 4.5, 3.0
"""The least contrasts that WCAG 2.1 AA asks for: of text, and of the borders of controls."""
THEMES = (":root, body.body--light", "body.body--dark")
GROUNDS = ("ground", "panel")
TONES = ("accent", "good", "warn", "bad", "live")
PAIRS = (
    *((text, ground, TEXT) for text in ("text", "muted", *TONES) for ground in GROUNDS),
    *((tone, f"{tone}-soft", TEXT) for tone in TONES),
    *(("text", f"{tone}-soft", TEXT) for tone in TONES),
    ("text", "line", TEXT),
    ("panel", "good", TEXT),
    ("panel", "bad", TEXT),
    ("on-primary", "primary", TEXT),
    ("accent", "line", CONTROL),
    *(("control", ground, CONTROL) for ground in GROUNDS),
)


def _read_theme(theme: str) -> dict[str, str]:
    text = (STATIC / "console.css").read_text(encoding="utf-8")
    [rules] = re.findall(rf"^{re.escape(theme)} \{{(.*?)^\}}", text, re.DOTALL | re.MULTILINE)
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", rules))


def _measure(colour: str) -> float:
    """The relative luminance of a colour."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _compare(one: str, other: str) -> float:
    lighter, darker = sorted((_measure(one), _measure(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.req("C-12")
@pytest.mark.parametrize("theme", THEMES)
def test_every_text_stands_out_from_its_ground(theme: str) -> None:
    """Each pair of text and ground has the contrast that AA asks for."""
    colours = _read_theme(theme)
    weak = {f"{text} on {ground}": round(_compare(colours[text], colours[ground]), 2) for text, ground, _ in PAIRS}
    least = {f"{text} on {ground}": least for text, ground, least in PAIRS}

    assert {pair: found for pair, found in weak.items() if found < least[pair]} == {}


@pytest.mark.req("C-12")
def test_every_rule_that_sets_text_on_a_ground_uses_a_measured_pair() -> None:
    """No style sheet sets a colour on a ground in one rule that is not among the pairs above, or a colour that is no variable."""
    known = {(text, ground) for text, ground, _ in PAIRS}
    strange: list[str] = []
    for sheet in sorted(STATIC.glob("*.css")):
        for rule in re.findall(r"\{([^{}]*)\}", sheet.read_text(encoding="utf-8")):
            text = re.search(r"(?<![-\w])color:\s*var\(--([a-z-]+)\)", rule)
            ground = re.search(r"background(?:-color)?:\s*var\(--([a-z-]+)\)", rule)
            if text and ground and (text[1], ground[1]) not in known:
                strange.append(f"{sheet.name}: {text[1]} on {ground[1]}")
            strange += [f"{sheet.name}: {found}" for found in re.findall(r"(?<![-\w])(?:color|background): ?#[0-9a-f]+", rule)]

    assert strange == []


@pytest.mark.req("C-12")
@pytest.mark.parametrize("theme", THEMES)
def test_both_themes_have_the_same_colours(theme: str) -> None:
    """A variable that a sheet uses has a value in each theme."""
    used = {
        name
        for sheet in STATIC.glob("*.css")
        for name in re.findall(r"(?:color|background|border|fill|stroke)[a-z-]*:[^;]*var\(--([a-z-]+)\)", sheet.read_text(encoding="utf-8"))
    }

    assert used
    assert sorted(used - _read_theme(theme).keys() - {"q-primary"}) == []


async def test_the_use_of_limits_is_read_when_the_console_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The calls of a day and the tokens of a month are known before anybody opens the first page."""
    monkeypatch.setattr(console_app, "_LOAD_AFTER", 0)
    async with a_console(tmp_path) as made:
        usage = made.console.services.usage
        running = asyncio.create_task(made.console.run())
        try:
            await until(lambda: usage._changes._read_to is not None and usage._usage._read_to is not None)
            assert made.console.is_loaded
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def test_a_page_that_was_left_reads_nothing_until_its_browser_is_back(made: ConsoleWorld) -> None:
    """Then it shows what has changed meanwhile; a page that is there shows it at once."""
    here, left = await made.open("/conversations"), await made.open("/conversations")
    await here.connect()
    await left.connect()
    await left.leave()
    put_turn(made.world, "tg:1008", "слова Бориса")
    await made.tell_change()
    assert here.has("слова Бориса")
    assert not left.has("слова Бориса")

    await left.connect()

    assert left.has("слова Бориса")


async def test_browsers_keep_the_styles_of_this_version_alone(made: ConsoleWorld) -> None:
    """A page names the version; another version, or none, is asked for again each time."""
    html = (await made.get("/")).text
    [address] = set(re.findall(r"/console(/static/console\.css\?v=\w+)", html))
    answers = [await made.get(path) for path in (address, f"{address}0", "/static/console.css")]

    assert [answer.status_code for answer in answers] == [200] * 3
    assert ["immutable" in answer.headers["Cache-Control"] for answer in answers] == [True, False, False]


@pytest.mark.parametrize("path", ["/", "/policy", "/definitions/scenario/new", "/login"])
async def test_every_file_of_a_page_is_asked_for_with_its_version(made: ConsoleWorld, path: str) -> None:
    """After an update no browser goes on with a script or a style of before."""
    found = re.findall(r"[\"'](/console/static/[^\"']+)", (await made.get(path, None if path == "/login" else OLGA)).text)

    assert found
    assert [address for address in found if not re.fullmatch(r"/console/static/[\w/]+\.(css|js)\?v=[0-9a-f]{16}", address)] == []


async def test_browsers_keep_the_components_of_nicegui(made: ConsoleWorld) -> None:
    """What a page is made of is not asked for anew at each page; what does not exist is not remembered."""
    html = (await made.get("/")).text
    address = re.findall(r"/console(/_nicegui/[^\"']+/components/[^\"']+)", html)[0]
    found, missing = await made.get(address), await made.get(f"{address}.missing")

    assert (found.status_code, found.headers["Cache-Control"]) == (200, "private, max-age=86400")
    assert missing.status_code == 404
    assert "Cache-Control" not in missing.headers
