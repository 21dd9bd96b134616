"""Paths of files: one spelling inside of the folder, and a reason for everything else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.file_path import PathRefused, format_path, may_name, parse_folder, parse_path, to_comparable

OUTSIDE = [
    "..",
    "../x",
    "a/../b",
    "a/..",
    ".",
    "./a",
    "a/./b",
    "...",
    "a/.../b",
    "/etc/passwd",
    "//server/x",
    "~/x",
    "~root",
    "C:",
    "c:/windows",
    "C:x",
    "\\\\server\\x",
    "..\\x",
    "a\\..\\b",
    "a:stream",
    "a/b:c.txt",
    "\u2024\u2024/x",
    "\uff0e\uff0e/x",
    "\u2025/x",
    "\u2026",
    "a\uff0f..",
    "a\uff3cb",
    "\ufe52\ufe52",
    "a\uff1ab",
    "\u2100",
    " ",
    "a/ /b",
    "\u00a0",
    "\u3000",
    ". .",
]
FILLERS = [
    "a\u3164",
    "\u115fa",
    "a\uffa0.txt",
    "a\u2800b",
    "a\u034fb",
    "note\ufe0f.txt",
    "a\ufe00",
    "a\u180b",
    "a\U000e0100",
    "\u17b5",
    "a\U000e0041",
]
INVISIBLE = ["a\0b", "a.txt\0", "a\nb", "a\tb", "a\x7f", "\u202egpj.exe", "a\u200bb", "a\u2028b", "\ud800", "a\ufeff", "\ue000"]
HIDDEN = [".env", "a/.git/config", ".sdelka-0.tmp", "\uff0eenv", "a/..namedfork/rsrc", "..a"]
ODD = [
    "a/",
    "a//b",
    "a.",
    "a. ",
    " a",
    "a ",
    "a/b /c",
    "con",
    "CON.txt",
    "a/nul",
    "com1.log",
    "lpt9",
    "a?b",
    "a*",
    "a|b",
    '"',
    "<a>",
    "a\u00a0",
    "a\u2215b",
    "отчёты\u2044июль.txt",
    "a\u29f8b",
    "a\u2216b",
    "c\ua789b",
    "\u0301a",
    "a/\u0489",
    "notewi~1.txt",
    "PROGRA~2/x",
    "ОТЧЁТ~1",
    "clock$",
    "con .txt",
    "com\u00b9.txt",
    "\uff43on.txt",
]
LONG = ["a" * 501, "a" * 201, "я" * 101, "/".join("abcdefghijklm")]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        *[(text, "gate-file-path-outside") for text in OUTSIDE],
        *[(text, "gate-file-path-invisible") for text in (*INVISIBLE, *FILLERS)],
        *[(text, "gate-file-path-hidden") for text in HIDDEN],
        *[(text, "gate-file-path-odd") for text in ODD],
        *[(text, "gate-file-path-long") for text in LONG],
        ("", "gate-file-path-empty"),
    ],
)
def test_what_is_no_path_inside_of_the_folder_is_refused_with_its_reason(text: str, code: str) -> None:
    with pytest.raises(PathRefused) as refused:
        parse_path(text)
    assert refused.value.code == code


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "отчёты/июль.txt",
        "a/b c/d-e_f.csv",
        "Отчёт…за июль.txt",
        "½.txt",
        "a..b",
        "1/2/3",
        "concert.txt",
        "№1.txt",
        "%2e%2e/x",
        "&#46;&#46;",
        "проект~",
        "a~1b.txt",
        "й.txt",
        "naïve.txt",
    ],
)
def test_an_ordinary_path_is_kept_as_it_is(text: str) -> None:
    assert format_path(text) == text


def test_a_letter_and_its_sign_are_one_letter() -> None:
    assert format_path("отче\u0308ты/и\u0306") == "отчёты/й"


def test_the_folder_itself_is_a_folder_and_no_file() -> None:
    assert parse_folder("") == ()


@given(st.text(max_size=40))
def test_no_text_gives_a_part_that_leads_out(text: str) -> None:
    try:
        parts = parse_path(text)
    except PathRefused:
        return
    assert parts
    assert all(part not in {"", ".", ".."} and "/" not in part and "\0" not in part and not part.startswith(".") for part in parts)
    assert parse_path("/".join(parts)) == parts


def test_names_that_some_system_takes_for_the_same_are_equal() -> None:
    assert to_comparable("Отчёт.TXT") == to_comparable("ОТЧЕ\u0308Т.txt")
    assert to_comparable("straße") == to_comparable("STRASSE")
    assert to_comparable("a") != to_comparable("а")  # a Latin and a Russian letter are two names everywhere


def test_a_found_name_is_usable_only_in_its_one_spelling() -> None:
    assert may_name("й.txt")
    assert not may_name("и\u0306.txt")
    assert not may_name(".hidden")
