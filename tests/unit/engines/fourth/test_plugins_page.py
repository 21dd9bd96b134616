"""The page for those who write an engine: its example runs, and its tables say what the program says."""

import ast
import re
import tomllib
from pathlib import Path
from shutil import copytree

import pytest

from bot.cli.doctor.engines import SLOTS, SLOTS_OF_KINDS
from bot.i18n.translate import Translator
from bot.plugins.building import build_engines
from orchestrator.runs.registry import Engines, StaticDefinitions
from tests.unit.engines.fourth.plant_kit import EXAMPLE, ROOT, describe_faults, planted
from tests.unit.runs.runs_kit import index, start
from tests.unit.runs.test_runs_wait import texts
from tests.unit.spine_kit import a_world

PAGE = (ROOT / "docs" / "engine-plugins.md").read_text(encoding="utf-8")
OURS = ("bot", "orchestrator", "state", "bitrix", "engines", "sandbox")


def read_files() -> dict[str, str]:
    return dict(re.findall(r"^`engines/(\S+?)`[^\n]*:\n\n```\w*\n(.*?)```$", PAGE, re.MULTILINE | re.DOTALL))


def read_section(title: str) -> str:
    return PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


async def test_the_engine_of_the_page_runs(tmp_path: Path) -> None:
    for name, text in read_files().items():
        path = tmp_path / "engines" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / "engines" / "hello" / "__init__.py").touch()
    sentences = tmp_path / "engines" / "hello" / "texts"
    copytree(sentences / "en", sentences / "ru")  # the twin that the page speaks of
    with planted(tmp_path / "engines"):
        assert Translator("en").translate("menu-hello") == "Say hello"
        assert Translator("en").translate("console-definition-kind", kind="hello") == "Greeting"
        engines = Engines(runs=build_engines(), definitions=StaticDefinitions({("hello", "it"): {}}))
        async with a_world(tmp_path, engines=engines) as world:
            await world.work(start("it", engine="hello"))
            assert texts(world) == ["Здравствуйте, Анна!"]
            assert index(world).status == "done"
        assert describe_faults() == []


def test_the_slots_of_the_page_are_all_that_there_are() -> None:
    rows = re.findall(r"^\| `([a-z/K]+)` \| `([\w.]+)` \|", read_section("Slots"), re.MULTILINE)
    slots = {**{slot.name: slot for slot in SLOTS}, **{f"{slot.name}/K": slot for slot in SLOTS_OF_KINDS}}
    assert {name: f"{slot.type.__module__}.{slot.type.__name__}" for name, slot in slots.items()} == dict(rows)


def read_allowed() -> set[str]:
    """The modules and packages of the table of what an engine may import."""
    table = "\n".join(line for line in read_section("What it may import").splitlines() if line.startswith("|"))
    return {name for name in re.findall(r"`([\w.]+)`", table) if name.partition(".")[0] in OURS}


def list_imports(path: Path) -> set[str]:
    """The modules of this program that a file imports."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    modules = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    return {module for module in modules if module.partition(".")[0] in OURS}


@pytest.mark.parametrize("path", sorted(EXAMPLE.glob("*.py")), ids=lambda path: path.name)
def test_the_example_imports_only_what_the_page_allows(path: Path) -> None:
    assert {module for module in list_imports(path) if not any(f"{module}.".startswith(f"{name}.") for name in read_allowed())} == set()


def test_the_contract_of_faces_allows_what_the_page_does() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    (faces,) = [contract for contract in contracts if contract["name"].startswith("the faces of an engine")]
    allowed = {line.partition(" -> ")[2] for line in faces["ignore_imports"] if line.startswith("engines.** -> ")}
    assert {name.removesuffix(".**") for name in allowed} == read_allowed()


def test_everything_that_the_page_allows_is_there() -> None:
    for name in re.findall(r"`((?:bot|orchestrator|state)\.[\w.]+)`", PAGE):
        path = ROOT / name.replace(".", "/")
        assert path.is_dir() or path.with_suffix(".py").is_file() or path.parent.with_suffix(".py").is_file(), name
