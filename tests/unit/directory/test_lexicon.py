"""The word lists of data/language: every file is read, and what is missing is named."""

import re
from pathlib import Path

import pytest

from orchestrator.domain.errors import SettingsError
from orchestrator.language import lexicon
from orchestrator.language.lexicon import FOLDER, Lexicon, load_lexicon

WORDS = Lexicon(
    "data/language/some.yaml",
    {
        "little": "а в во",
        "units": {"week": ["нед", "week"], "day": ["дн"]},
        "title": {"ru": "Кому", "en": "To"},
        "rows": [{"letters": "гкх", "endings": "и ов"}],
        "flags": {1: "Да"},
        "wrong": {"day": 3},
    },
)


def test_every_file_is_a_table_and_is_parsed_once() -> None:
    """What one process asks for twice is one object."""
    names = [path.stem for path in FOLDER.glob("*.yaml")]
    assert names
    for name in names:
        assert load_lexicon(name) is load_lexicon(name)


def test_a_key_gives_the_shape_that_is_asked_for() -> None:
    """Text, words of a list or of a text, alternatives, tables, rows, and what is said in two languages."""
    assert WORDS.read_text("little") == "а в во"
    assert WORDS.read_words("little") == ("а", "в", "во")
    assert WORDS.join_patterns("units", "week") == "нед|week"
    assert WORDS.read_lists("units") == {"week": ("нед", "week"), "day": ("дн",)}
    assert WORDS.read_table("flags") == {"1": "Да"}
    assert WORDS.read_titles("title") == {"ru": "Кому", "en": "To"}
    assert WORDS.read_rows("rows") == ({"letters": "гкх", "endings": "и ов"},)


def test_a_missing_key_and_another_shape_are_named_with_the_file() -> None:
    """The sentence says which file of the data folder is older than the code."""
    with pytest.raises(SettingsError, match=r"data/language/some\.yaml: no key units\.month"):
        WORDS.read_words("units", "month")
    with pytest.raises(SettingsError, match=r"no key little\.ru"):
        WORDS.read_titles("little")
    with pytest.raises(SettingsError, match=r"wrong\.day must be text, not int"):
        WORDS.read_text("wrong", "day")
    with pytest.raises(SettingsError, match="little must be a table, not str"):
        WORDS.read_table("little")
    with pytest.raises(SettingsError, match="units must be a list, not dict"):
        WORDS.read_rows("units")


def test_a_missing_or_broken_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No such file, no YAML, no table."""
    monkeypatch.setattr(lexicon, "FOLDER", tmp_path)
    (tmp_path / "broken.yaml").write_text("a: [", encoding="utf-8")
    (tmp_path / "list.yaml").write_text("- a", encoding="utf-8")
    for name in ("absent", "broken", "list"):
        with pytest.raises(SettingsError, match=re.escape(f"{name}.yaml")):
            load_lexicon(name)
