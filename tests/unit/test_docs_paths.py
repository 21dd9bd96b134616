"""The two pages that tell a newcomer where things are: what they name is there."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RINGS = ("", "orchestrator/", "bot/")
"""Paths are told from the root, or from the ring where the sentence is."""
_QUOTED = re.compile(r"`([\w.*{},-]+/[\w./*{},-]+)`")
_LINK = re.compile(r"\]\(([^)#:]+)\)")


def list_paths(text: str) -> Iterator[str]:
    """The quoted paths, one for each word in braces; the name of one folder, such as `core/`, is none."""
    for quoted in _QUOTED.findall(text):
        braces = re.search(r"\{([^}]*)\}", quoted)
        yield from ([quoted.replace(braces[0], word) for word in braces[1].split(",")] if braces else [quoted])


def is_there(path: str) -> bool:
    return any(any(ROOT.glob(f"{ring}{path.rstrip('/')}")) for ring in RINGS)


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_path_and_link_of_a_page_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    paths = [*list_paths(text), *_LINK.findall(text)]
    assert len(paths) > 15
    assert not [path for path in paths if not is_there(path)]


def test_the_picture_shows_every_room() -> None:
    """A folder that the picture leaves out is one that nobody looks for. Engines are put in without a line elsewhere."""
    picture = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("```")[1]
    words = set(re.findall(r"\w+", picture))
    folders = [folder for ring in ("bot", "orchestrator", "state", "bitrix") for folder in (ROOT / ring).iterdir() if folder.is_dir()]
    assert not [folder.name for folder in folders if any(folder.glob("*.py")) and folder.name not in words]
