"""Every command that a page shows exists: `sdelka …` of README and docs is looked up in the command line itself."""

import re
import shlex
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from inspect import getclosurevars
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "ru").glob("*.md")),
    *sorted((ROOT / "engines").glob("*/README*.md")),
]
_CALL = re.compile(
    r"(?:(?:\.venv/bin/|/opt/sdelka/\.venv/bin/)?python -m bot|\.venv/bin/sdelka|(?<![\w/.-])(?<!-u )sdelka)[ ]+([a-z][^\n`#|;&<>()…]*)"
)
_OPAQUE = {"demo", "sandbox"}
"""Commands whose words another program reads."""


@cache
def parts() -> dict[str, tuple[str, str]]:
    """Word → (module, attribute) of the commands that the command line loads late, those of engines among them."""
    loaders = {info.name: getclosurevars(info.callback).nonlocals for info in import_module("bot.cli.app").app.registered_commands}
    return {name: (loader["module"], loader["attribute"]) for name, loader in loaders.items() if "module" in loader}


@cache
def command(name: str) -> Any:
    """The command with that name, None where there is none."""
    if name in parts():
        module, attribute = parts()[name]
        return typer.main.get_command(getattr(import_module(module), attribute))
    whole = typer.main.get_command(import_module("bot.cli.app").app)
    return getattr(whole, "commands", {}).get(name)


def shown(text: str) -> Iterator[str]:
    """Each command line of a page: in backticks, or in a block of code."""
    code = re.findall(r"```.*?```", text, re.DOTALL) + re.findall(r"`[^`\n]+`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    for block in code:
        for line in block.replace("\\\n", " ").splitlines():
            for match in _CALL.finditer(line):
                yield match[1].strip()


def fault(line: str) -> str:
    """What is wrong with a command line, "" for nothing."""
    words = [word for word in _split(re.sub(r"[\[\]]", " ", line)) if word]
    found, given = command(words[0]), words[1:]
    if found is None:
        return f"there is no command {words[0]!r}"
    if words[0] in _OPAQUE:
        return ""
    while given and getattr(found, "commands", None) and not given[0].startswith("-"):
        if given[0] not in found.commands:
            return f"{found.name or words[0]} has no {given[0]!r}"
        found, given = found.commands[given[0]], given[1:]
    given = given[: given.index("--")] if "--" in given else given
    return _unknown(line, found, given)


def _unknown(line: str, found: Any, given: list[str]) -> str:
    """An option that does not exist, or a word that nothing takes."""
    options = {
        name: parameter for parameter in found.params for name in (*parameter.opts, *parameter.secondary_opts) if name.startswith("-")
    }
    takes = [parameter for parameter in found.params if parameter.param_type_name == "argument"]
    left = list(given)
    while left:
        name, joined, _ = left.pop(0).partition("=")
        if not name.startswith("-"):
            if not takes:
                return f"{line!r}: nothing takes {name!r}"
        elif name != "--help" and name not in options:
            return f"{line!r}: no option {name}"
        elif name in options and not joined and not options[name].is_flag and left:
            left.pop(0)
    return ""


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_a_page_exist(page: Path) -> None:
    """Command, sub-command and options, as typed."""
    assert [said for line in shown(page.read_text(encoding="utf-8")) if (said := fault(line))] == []


def test_it_would_notice() -> None:
    """A command, a sub-command and an option that do not exist are each found."""
    text = "`sdelka jornal verify` and\n```\n$ sdelka journal verfy --json\nsdelka doctor --speend  # no\nsdelka policy check FILE\n```\n`sdelka doctor --json --within 3`"
    assert {line: bool(fault(line)) for line in shown(text)} == {
        "jornal verify": True,
        "journal verfy --json": True,
        "doctor --speend": True,
        "policy check FILE": True,
        "doctor --json --within 3": False,
    }


BEFORE = (ROOT / "tests" / "corpus" / "commands_v2.txt").read_text(encoding="utf-8").splitlines()
"""Commands with their arguments, options (`--last=` takes a value) and documented exit codes, as they were before they came from the API."""


@pytest.mark.parametrize("line", BEFORE)
def test_a_command_of_before_is_there_or_prints_its_new_name(line: str) -> None:
    """With its options and at least its exit codes. A renamed one is listed as `old words => new words`, and the old one says the new."""
    old, _, new = line.partition(" => ")
    words, _, codes = (new or old).partition("  # ")
    assert fault(words) == ""
    found = command(words.split()[0])
    for word in words.split()[1:]:
        found = getattr(found, "commands", {}).get(word, found)
    assert set(codes.split()) <= set(re.findall(r"\b(\d+) = ", f"{found.help} {found.epilog}"))
    if new:
        whole = import_module("bot.cli.app").app
        assert found.name in CliRunner().invoke(whole, [word for word in old.split() if word.islower() and word[0] != "-"]).output
