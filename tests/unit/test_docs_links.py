"""Links of the pages lead somewhere, and decisions stay short."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *(page for name in ("docs", "engines", "sandbox", "deploy") for page in (ROOT / name).rglob("*.md"))]
DECISIONS = sorted((ROOT / "docs" / "adr").glob("*.md"))
MOST_WORDS = 300
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_NAMED = re.compile(r'<a id="([^"]+)">')
_CODE = re.compile(r"```.*?```", re.DOTALL)


def read_prose(page: Path) -> str:
    return _CODE.sub("", page.read_text(encoding="utf-8"))


@cache
def list_anchors(page: Path) -> set[str]:
    """The anchors of a page: those that it names, and those that hosts of repositories make of its headings."""
    prose = read_prose(page)
    return set(_NAMED.findall(prose)) | {
        re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in _HEADING.findall(prose)
    }


def list_broken(page: Path) -> Iterator[str]:
    """The links of a page that lead to no file, or to no heading of it."""
    for link in _LINK.findall(read_prose(page)):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not re.match(r"[a-z]+:", link) and not (target.exists() and (not anchor or anchor in list_anchors(target))):
            yield link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert list(list_broken(page)) == []


def test_a_broken_link_would_be_noticed(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# A heading, and `code`\n", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text("[a](there.md#a-heading-and-code) [b](there.md#another) [c](gone.md) [d](https://example.org/x)\n", encoding="utf-8")
    assert list(list_broken(page)) == ["there.md#another", "gone.md"]


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.stem)
def test_a_decision_is_short(page: Path) -> None:
    """What was decided, why, and what was refused; figures of a day stand in docs/measured.md."""
    assert len(page.read_text(encoding="utf-8").split()) <= MOST_WORDS
