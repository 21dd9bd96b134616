"""Everything that engines offer is of the type that its slot asks for, and asking for one thing imports no other door."""

import subprocess
import sys
from typing import Any

import pytest

from bot.cli.doctor.engines import SLOTS, SLOTS_OF_KINDS, check_engines
from bot.plugins.loading import find_part, find_part_of_kind, load_plugins
from tests.unit.engines.fourth.plant_kit import ROOT

DOORS = {"bot.telegram", "bot.cli", "bot.console", "bot.http_api", "bot.composition", "nicegui", "fastapi", "aiogram", "typer"}
NEEDS: dict[str, set[str]] = {
    "wiring": set(), "turns": set(), "lifetime": set(), "kind": set(), "trial": set(), "cases": set(),
    "family": {"bot.cli", "typer"}, "live": {"bot.cli", "typer"}, "ask": {"bot.cli", "typer"}, "run": {"bot.console"},
    "http": {"bot.http_api", "fastapi"},
}  # fmt: skip
"""By slot: the doors and their libraries that its parts may import."""
LOAD = """
import sys
from importlib import import_module
from bot.plugins.loading import load_plugins
for plugin in load_plugins():
    for name, place in plugin.parts.items():
        if name.partition("/")[0] in sys.argv[1:]:
            import_module(place.partition(":")[0])
print(*sys.modules)
"""


def list_offered() -> dict[str, object]:
    """ "engine slot" → what every door gets that asks for it."""
    offered: dict[str, object] = {}
    for plugin in load_plugins():
        offered |= {f"{plugin.name} {slot.name}": find_part(slot, plugin.name) for slot in SLOTS}
        offered |= {f"{plugin.name} {slot.name}/{kind}": find_part_of_kind(slot, kind) for slot in SLOTS_OF_KINDS for kind in plugin.kinds}
    return {name: part for name, part in offered.items() if part is not None}


def test_every_part_of_every_engine_is_loaded_with_its_type() -> None:
    """What a plugin names is text, which no type checker sees."""
    types: dict[str, type[Any]] = {slot.name: slot.type for slot in (*SLOTS, *SLOTS_OF_KINDS)}
    offered = list_offered()
    assert sorted(offered) == sorted(f"{plugin.name} {name}" for plugin in load_plugins() for name in plugin.parts)
    assert [name for name, part in offered.items() if not isinstance(part, types[name.split()[1].partition("/")[0]])] == []
    assert [finding.verdict for finding in check_engines()] == ["ok"]


def test_every_slot_is_looked_at() -> None:
    assert {slot.name for slot in (*SLOTS, *SLOTS_OF_KINDS)} == set(NEEDS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "needs", [set(), {"bot.console"}, {"bot.http_api", "fastapi"}, {"bot.cli", "typer"}], ids=["none", "console", "http", "terminal"]
)
@pytest.mark.long
def test_asking_for_one_thing_imports_no_other_door(needs: set[str]) -> None:
    """One file with the faces of all doors made the schema of workflows import the console, which took two seconds."""
    slots = [slot for slot, doors in NEEDS.items() if doors == needs]
    loaded = subprocess.run([sys.executable, "-c", LOAD, *slots], cwd=ROOT, capture_output=True, text=True, check=True)
    assert (DOORS - needs) & set(loaded.stdout.split()) == set()
