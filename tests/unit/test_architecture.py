"""What the import contracts of pyproject.toml do not see by themselves: units without a place, folders without `__init__.py`, channels."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from bot.plugins.loading import load_plugins

ROOT = Path(__file__).resolve().parents[2]
SHIPPED: Final = ("engines", "bot", "orchestrator", "bitrix", "state")
SPLIT: Final = ("orchestrator",)
"""Packages whose children stand in the layers one by one."""
CHANNELS: Final = {"orchestrator/domain/address.py": "the channels: which are messengers, which are pulled, and how reports name them"}
"""The one file of the orchestrator that names channels: who needs one takes it from there or from an `Address`."""
ENGINE_NAMES: Final = {
    ("state/events/base.py", "crm_agent"): "what stored calls, cards and messages mean that name nobody",
    ("orchestrator/domain/bulk.py", "bulk_changes"): "the engine that an approved file of changes starts; nobody else can",
    ("state/journal/blobs.py", "bulk_changes"): "whose runs' texts are a person's, and go with that person",
    ("orchestrator/engines/shared/rendering.py", "workflow"): "stands in buttons that people have in their chats",
    ("orchestrator/engines/scenarios/step_types.py", "engines.scenarios.core.step_types"): "the old name of an interface, see there",
    ("orchestrator/engines/workflows/rune_types.py", "engines.workflows.core.rune_types"): "as above",
}
"""Where a name of an engine, or of a kind of definitions, is written outside of its folder, and why."""
ENGINE_SENTENCES: Final = {
    "flow-budget-steps": "how often a step of a flow is visited; counted in `orchestrator/engines/shared/budget.py`, used by flows alone",
    "flow-too-long": "as above",
    "scenario-progress": "answers of runs that `bot/rendering/replies.py` adds nothing to",
    "scenario-back": "an example in a description, `orchestrator/rehearsals/case.py`",
    "ask-find-in-crm-failed": "what a service answers that the tool agent alone asks, `bot/composition/portal.py`",
}
"""The sentences of an engine that are named outside of its folder, and why nothing is missing without the engine."""
HOMONYMS: Final = {"agent"}
"""Kinds whose name means something else, too: the role of the models that talk with people, and the agent that a run asks."""
_CHANNEL: Final = re.compile(r"(?:^|[^a-z])(?:tg|cli)(?:$|:)|(?:^|[^a-z])http:(?!//)")


@pytest.fixture(scope="module")
def placed() -> set[str]:
    """Every unit that the layers of the orchestrator name."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    return set(list_placed(contracts))


def list_placed(contracts: list[dict[str, Any]]) -> Iterator[str]:
    """The units of the one layers contract that places children of the orchestrator."""
    (found,) = [contract for contract in contracts if contract["type"] == "layers" and "orchestrator.domain" in contract["layers"]]
    for layer in found["layers"]:
        yield from (re.sub(r"[()\s]", "", unit) for unit in re.split(r"[|:]", layer))


def list_children(package: str) -> set[str]:
    """The direct children of a package: its modules, and its folders that hold code."""
    folder = ROOT / package.replace(".", "/")
    modules = {path.stem for path in folder.glob("*.py") if path.stem != "__init__"}
    packages = {path.name for path in folder.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    return {f"{package}.{name}" for name in modules | packages}


@pytest.mark.parametrize("package", SPLIT)
def test_every_unit_has_its_layer(placed: set[str], package: str) -> None:
    """A new unit is placed in the layers contract before it can be used."""
    assert sorted(list_children(package) - placed - set(SPLIT)) == []


def test_every_layer_is_a_unit(placed: set[str]) -> None:
    """The layers name nothing that is gone."""
    assert sorted(placed - set().union(*map(list_children, SPLIT))) == []


def test_every_folder_of_code_is_a_package() -> None:
    """import-linter passes over a folder without `__init__.py` in silence."""
    folders = {folder for name in SHIPPED for path in (ROOT / name).rglob("*.py") for folder in path.relative_to(ROOT).parents}
    folders.discard(Path())
    assert len(folders) > 40
    assert sorted(str(folder) for folder in folders if not (ROOT / folder / "__init__.py").is_file()) == []


def find_channels(source: str) -> list[str]:
    """The texts of a file that name a channel, docstrings left out."""
    if not re.search(r"\b(?:tg|cli|http)\b", source):
        return []
    return [text for text in list_texts(ast.parse(source)) if _CHANNEL.search(text)]


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ('x = f"tg:{number}"', ["tg:"]),
        ('x = "session:tg:"', ["session:tg:"]),
        ('x = address.channel == "tg"', ["tg"]),
        ('x = {"cli": 1}', ["cli"]),
        ('x = "http:site"', ["http:site"]),
        ('x = "http://portal"', []),
        ('x = "client: a"; y = "cli_mode"', []),
        ('"""Keys such as tg:7."""\nx = 1\n"""As tg:7."""', []),
    ],
)
def test_a_channel_is_recognised_in_a_text(source: str, named: list[str]) -> None:
    """The name of a channel, alone or before a colon, in any text but a docstring."""
    assert find_channels(source) == named


def test_only_the_listed_files_of_the_orchestrator_name_a_channel() -> None:
    """Decisions know no door: a file that names a channel is listed to be moved, and leaves the list when it no longer does."""
    files = {path.relative_to(ROOT).as_posix(): path for path in (ROOT / "orchestrator").rglob("*.py")}
    named = {name for name, path in files.items() if find_channels(path.read_text(encoding="utf-8"))}
    assert sorted(named - set(CHANNELS)) == []
    assert sorted(set(CHANNELS) - named) == []


def list_texts(tree: ast.AST) -> Iterator[str]:
    """The texts of a file, docstrings left out."""
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in bare)
    yield from (node.value for node in constants if isinstance(node.value, str))


def list_modules(tree: ast.AST) -> Iterator[str]:
    """The modules that a file imports, anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module or ""


def test_nobody_below_names_an_engine() -> None:
    """Doors ask slots; a name in a condition would have to be written once more for the next engine."""
    names = {name for plugin in load_plugins() for name in (plugin.name, *plugin.kinds)} - HOMONYMS
    words = names | {f"{name}s" for name in names}
    candidate = re.compile(
        rf"[\"'](?:{'|'.join(words)})[\"']|[\"']engines\.|(?:import|from) +engines\b"
    )  # reading all 1,500 trees takes long
    found: set[tuple[str, str]] = set()
    for package in ("bot", "orchestrator", "state"):
        for path in (ROOT / package).rglob("*.py"):
            source = path.read_text(encoding="utf-8")
            if candidate.search(source) is None:
                continue
            tree = ast.parse(source)
            place = path.relative_to(ROOT).as_posix()
            found |= {(place, text) for text in list_texts(tree) if text in words or re.match(r"engines\.[a-z]", text)}
            found |= {(place, module) for module in list_modules(tree) if module.split(".")[0] == "engines"}
    assert sorted(found - ENGINE_NAMES.keys()) == []
    assert sorted(ENGINE_NAMES.keys() - found) == []


def test_what_is_said_outside_of_an_engine_does_not_lie_in_its_texts() -> None:
    """Without the folder of flows, a workflow's question that was answered wrongly said `flow-answer-unfit`."""
    sentences: dict[str, str] = {}
    for path in (ROOT / "engines").rglob("texts/en/*.ftl"):
        sentences |= dict.fromkeys(re.findall(r"^([a-z][\w-]*) =", path.read_text(encoding="utf-8"), re.MULTILINE), path.parts[-4])
    named: set[str] = set()
    for path in (path for package in ("engines", "bot", "orchestrator") for path in (ROOT / package).rglob("*.py")):
        owner = path.relative_to(ROOT).parts[1]
        named |= {
            word for word in re.findall(r"[a-z]\w*(?:-\w+)+", path.read_text(encoding="utf-8")) if sentences.get(word, owner) != owner
        }
    assert len(sentences) > 100
    assert sorted(named) == sorted(ENGINE_SENTENCES)


@pytest.mark.parametrize(
    ("source", "texts", "modules"),
    [
        ('if run.engine == "flow": pass', ["flow"], []),
        ('"""flow"""\nx = ("flow",)', ["flow"], []),
        ("def f():\n    from engines.flows.core import kind", [], ["engines.flows.core"]),
        ("import engines.flows", [], ["engines.flows"]),
    ],
)
def test_a_name_of_an_engine_is_recognised(source: str, texts: list[str], modules: list[str]) -> None:
    assert (list(list_texts(ast.parse(source))), list(list_modules(ast.parse(source)))) == (texts, modules)
