"""The vendored library of the canvas is the one that its build wrote."""

import hashlib
import json
import tomllib
from pathlib import Path

from bot.console.static_files import STATIC

ROOT = Path(__file__).parents[4]
SOURCE = ROOT / "bot" / "console" / "vendor" / "canvas"


def test_each_file_is_the_one_whose_digest_the_build_wrote() -> None:
    written = json.loads((SOURCE / "digests.json").read_text(encoding="utf-8"))
    assert {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (STATIC / "canvas").iterdir()} == written


def test_a_wheel_contains_it() -> None:
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["package-data"]
    assert "static/canvas/*" in data["bot.console"]


def test_its_lock_names_no_registry() -> None:
    assert "http" not in (SOURCE / "package-lock.json").read_text(encoding="utf-8")


def test_its_licences_name_every_package_of_the_bundle() -> None:
    told = (STATIC / "canvas" / "LICENSES.txt").read_text(encoding="utf-8")
    assert all(f"{name} " in told for name in ("@vue-flow/core", "@dagrejs/dagre", "@vueuse/core", "d3-zoom", "d3-drag"))
