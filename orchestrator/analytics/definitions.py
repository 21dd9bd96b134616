"""The readings of words that the owner of a company may choose, and what is said of each: data/analytics/definitions.yaml."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from orchestrator.domain.errors import SettingsError
from orchestrator.language.text import Locale

FOLDER: Final = Path(__file__).resolve().parents[2] / "data" / "analytics"


@dataclass(frozen=True, slots=True)
class Definitions:
    """`choices`: which reading counts, by the name of the word. The sentences come from the shipped file."""

    choices: Mapping[str, str]
    sentences: Mapping[str, Mapping[str, str]]
    """By "word.reading" or "subject.measure", then by language."""

    def find_sentence(self, code: str, locale: Locale) -> str:
        """ "" if nothing is said of it."""
        return self.sentences.get(code, {}).get(locale, "")

    def find_choice_sentence(self, word: str, locale: Locale) -> str:
        return self.find_sentence(f"{word}.{self.choices[word]}", locale)


def load_definitions(path: Path | None = None) -> Definitions:
    """`path` is a file of the company that holds choices. Raises SettingsError for a word or reading that there is not."""
    shipped = _load_shipped()
    chosen = read_data_file(path).get("choices", {}) if path is not None else {}
    if not isinstance(chosen, Mapping):
        raise SettingsError(f"{path}: choices must be a table")
    for word, reading in chosen.items():
        readings = _list_readings(shipped).get(str(word))
        if readings is None:
            raise SettingsError(f"{path}: no such word: {word}; words: {', '.join(_list_readings(shipped))}")
        if reading not in readings:
            raise SettingsError(f"{path}: {word} is one of {', '.join(readings)}")
    return Definitions({**shipped.choices, **{str(word): str(reading) for word, reading in chosen.items()}}, shipped.sentences)


def _list_readings(definitions: Definitions) -> dict[str, tuple[str, ...]]:
    return {
        word: tuple(code.partition(".")[2] for code in definitions.sentences if code.startswith(f"{word}.")) for word in definitions.choices
    }


@cache
def _load_shipped() -> Definitions:
    content = read_data_file(FOLDER / "definitions.yaml")
    choices: dict[str, str] = {}
    sentences: dict[str, Mapping[str, str]] = {}
    for word, choice in content["choices"].items():
        choices[word] = choice["usual"]
        sentences |= {f"{word}.{reading}": texts for reading, texts in choice["readings"].items()}
    for subject, measures in content["measures"].items():
        sentences |= {f"{subject}.{measure}": texts for measure, texts in measures.items()}
    return Definitions(choices, sentences)


def read_data_file(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        raise SettingsError(f"{path}: {error}") from None
    if not isinstance(content, dict):
        raise SettingsError(f"{path}: must be a table")
    return content
