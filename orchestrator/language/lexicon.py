"""Loads the word lists of data/language, one YAML file for each subject: words that people write, and words on cards and in questions.

A file is parsed once per process, when a module first needs it. A missing key or a value of the wrong type raises `SettingsError`, which
names the file and the key; the usual cause is a data folder that is older than the code.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import yaml

from orchestrator.domain.errors import SettingsError
from orchestrator.language.text import Locale

FOLDER: Final = Path(__file__).resolve().parents[2] / "data" / "language"
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Lexicon:
    """The word lists of one file. A list is found by its key, which is a path in the YAML file such as ("units", "weeks")."""

    def __init__(self, name: str, content: Mapping[str, object]) -> None:
        """Keep the parsed `content` of a file; `name` is the file's name for error messages."""
        self._name = name
        self._content = content

    def read_text(self, *key: str) -> str:
        """Return the text under `key`."""
        return self._check_text(self._find(key), key)

    def read_words(self, *key: str) -> tuple[str, ...]:
        """Return the list of texts under `key`; a single text is split at its spaces into words."""
        found = self._find(key)
        if isinstance(found, list):
            return tuple(self._check_text(item, key) for item in found)
        return tuple(self._check_text(found, key).split())

    def join_patterns(self, *key: str) -> str:
        """Return the texts under `key` with "|" between them, as alternatives of a regular expression."""
        return "|".join(self.read_words(*key))

    def read_table(self, *key: str) -> dict[str, str]:
        """Return the table of texts under `key`, name → text. Names that are numbers in the file become strings."""
        return {str(name): self._check_text(text, key) for name, text in self._check_mapping(self._find(key), key).items()}

    def read_lists(self, *key: str) -> dict[str, tuple[str, ...]]:
        """Return the table of lists under `key`, name → texts."""
        return {str(name): self.read_words(*key, name) for name in self._check_mapping(self._find(key), key)}

    def read_groups(self, *key: str) -> tuple[tuple[str, ...], ...]:
        """Return the list of lists of texts under `key`, in order."""
        groups = (self._check_list(group, key) for group in self._check_list(self._find(key), key))
        return tuple(tuple(self._check_text(item, key) for item in group) for group in groups)

    def read_names(self, *key: str) -> tuple[str, ...]:
        """Return the names in the table under `key`, in the order of the file; their values may be of any form."""
        return tuple(str(name) for name in self._check_mapping(self._find(key), key))

    def read_rows(self, *key: str) -> tuple[dict[str, str], ...]:
        """Return the list of tables under `key`, in order; each is a mapping name → text."""
        rows = [self._check_mapping(row, key) for row in self._check_list(self._find(key), key)]
        return tuple({str(name): self._check_text(text, key) for name, text in row.items()} for row in rows)

    def read_titles(self, *key: str) -> dict[Locale, str]:
        """Return the Russian and the English text under `key`, by locale."""
        return {"ru": self.read_text(*key, "ru"), "en": self.read_text(*key, "en")}

    def _find(self, key: tuple[str, ...]) -> object:
        found: object = self._content
        for name in key:
            if not isinstance(found, Mapping) or name not in found:
                raise SettingsError(f"{self._name}: no key {'.'.join(map(str, key))}; copy the data folder of this version")
            found = found[name]
        return found

    def _check_text(self, found: object, key: tuple[str, ...]) -> str:
        if not isinstance(found, str):
            raise SettingsError(f"{self._name}: {'.'.join(map(str, key))} must be text, not {type(found).__name__}")
        return found

    def _check_list(self, found: object, key: tuple[str, ...]) -> list[object]:
        if not isinstance(found, list):
            raise SettingsError(f"{self._name}: {'.'.join(map(str, key))} must be a list, not {type(found).__name__}")
        return found

    def _check_mapping(self, found: object, key: tuple[str, ...]) -> Mapping[str, object]:
        if not isinstance(found, Mapping):
            raise SettingsError(f"{self._name}: {'.'.join(map(str, key))} must be a table, not {type(found).__name__}")
        return found


@cache
def load_lexicon(name: str) -> Lexicon:
    """Return the word lists of data/language/`name`.yaml; raises SettingsError if the file is missing or does not hold a table."""
    return Lexicon(f"data/language/{name}.yaml", read_language_file(name))


def read_language_file(name: str) -> Mapping[str, object]:
    """Return the parsed table in data/language/`name`.yaml; raises SettingsError if the file is missing or does not hold a table."""
    path = FOLDER / f"{name}.yaml"
    try:
        content = yaml.load(path.read_bytes(), Loader=_LOADER)  # noqa: S506 — one of the two safe loaders
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        raise SettingsError(f"{path}: {error}") from None
    if not isinstance(content, Mapping):
        raise SettingsError(f"{path}: must be a table of word lists")
    return content
