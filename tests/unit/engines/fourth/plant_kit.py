"""Puts engines in for one test and takes them out again: as folders of the package `engines`, or as installed distributions."""

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

import pytest

import engines
from bot.i18n import translate
from bot.plugins import loading
from bot.plugins.building import load_installed_engines
from bot.plugins.loading import list_faults, load_plugins

ROOT: Final = Path(__file__).resolve().parents[4]
EXAMPLE: Final = ROOT / "examples" / "checklist_engine" / "sdelka_checklist"
RUNS: Final = list(load_installed_engines().runs)
OURS: Final = [plugin.name for plugin in load_plugins()]
"""The engines that are there before a test puts one in: those of runs, and all. They are not named: somebody may have put in another."""
PACKAGE: Final = "sdelka_checklist"
Shape = Literal["folder", "distribution"]


def forget() -> None:
    """Let this process look for engines and their sentences anew."""
    importlib.invalidate_caches()
    load_plugins.cache_clear()
    load_installed_engines.cache_clear()
    translate._load_sentences.cache_clear()


def _drop_modules(names: set[str]) -> None:
    for name in [name for name in sys.modules if any(name == top or name.startswith(f"{top}.") for top in names)]:
        del sys.modules[name]
    for name in names:
        if name.startswith("engines.") and hasattr(engines, name.partition(".")[2]):
            delattr(engines, name.partition(".")[2])


@contextmanager
def planted(folder: Path) -> Iterator[None]:
    """What lies in this folder as engines: its subfolders as those of the package `engines`, its `site` as installed packages."""
    site = folder / "site"
    names = {f"engines.{path.name}" for path in folder.iterdir()} | {path.stem for path in site.glob("*")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engines, "__path__", [*engines.__path__, str(folder)])
        patch.syspath_prepend(str(site))
        forget()
        try:
            yield
        finally:
            patch.undo()
            _drop_modules(names)
            forget()


def plant_checklist(folder: Path, shape: Shape) -> Path:
    """Copy the engine of the example, and return the folder for `planted`."""
    if shape == "folder":
        shutil.copytree(EXAMPLE, folder / "checklist")
    else:
        shutil.copytree(EXAMPLE, folder / "site" / PACKAGE)
        write_entry_point(folder, "checklist", f"{PACKAGE}.plugin:PLUGIN")
    return folder


def write_entry_point(folder: Path, name: str, place: str) -> None:
    """An installed distribution with one entry point."""
    info = folder / "site" / f"sdelka_{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: sdelka-{name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{loading.GROUP}]\n{name} = {place}\n")


def write_plugin(folder: Path, name: str, plugin: str, **modules: str) -> Path:
    """An engine of its own folder, whose PLUGIN is this expression, beside modules with these texts."""
    package = folder / name
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    head = "from pathlib import Path\nfrom bot.plugins.plugin import EnginePlugin, TerminalGroup\n"
    (package / "plugin.py").write_text(f"{head}PLUGIN = {plugin}\n")
    for module, text in modules.items():
        (package / f"{module}.py").write_text(text)
    return folder


def describe_faults() -> list[tuple[str, str]]:
    """(engine, slot) of all faults that were met."""
    return [(fault.engine, fault.slot) for fault in list_faults()]


def run_planted(folder: Path, code: str, *arguments: str, only: bool = False) -> subprocess.CompletedProcess[str]:
    """Run this code in a fresh process with the engines of the folder; `only` with no others."""
    path = "[FOLDER]" if only else "[*engines.__path__, FOLDER]"
    begin = f"import sys\nFOLDER = {str(folder)!r}\nimport engines\nengines.__path__ = {path}\nsys.path.insert(0, FOLDER + '/site')\n"
    return subprocess.run(
        [sys.executable, "-c", begin + code, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
