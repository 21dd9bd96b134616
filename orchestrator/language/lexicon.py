"""The word lists of data/language. A missing key raises `SettingsError`: mostly the data folder is older than the code."""

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
    """A list is found by its path in the file, such as ("units", "weeks")."""

    def __init__(self, name: str, content: Mapping[str, object]) -> None:
        self._name = name
        self._content = content

    def read_text(self, *key: str) -> str:
        return self._check_text(self._find(key), key)

    def read_words(self, *key: str) -> tuple[str, ...]:
        words = self._find(key)
        if isinstance(words, list):
            return tuple(self._check_text(item, key) for item in words)
        return tuple(self._check_text(words, key).split())

    def join_patterns(self, *key: str) -> str:
        return "|".join(self.read_words(*key))

    def read_table(self, *key: str) -> dict[str, str]:
        """Names that are numbers in the file become strings."""
        return {str(name): self._check_text(text, key) for name, text in self._check_mapping(self._find(key), key).items()}

    def read_lists(self, *key: str) -> dict[str, tuple[str, ...]]:
        return {str(name): self.read_words(*key, name) for name in self._check_mapping(self._find(key), key)}

    def read_groups(self, *key: str) -> tuple[tuple[str, ...], ...]:
        groups = (self._check_list(group, key) for group in self._check_list(self._find(key), key))
        return tuple(tuple(self._check_text(item, key) for item in group) for group in groups)

    def read_names(self, *key: str) -> tuple[str, ...]:
        """In the order of the file."""
        return tuple(str(name) for name in self._check_mapping(self._find(key), key))

    def read_rows(self, *key: str) -> tuple[dict[str, str], ...]:
        rows = [self._check_mapping(row, key) for row in self._check_list(self._find(key), key)]
        return tuple({str(name): self._check_text(text, key) for name, text in row.items()} for row in rows)

    def read_titles(self, *key: str) -> dict[Locale, str]:
        return {"ru": self.read_text(*key, "ru"), "en": self.read_text(*key, "en")}

    def _find(self, key: tuple[str, ...]) -> object:
        node: object = self._content
        for name in key:
            if not isinstance(node, Mapping) or name not in node:
                raise SettingsError(f"{self._name}: no key {'.'.join(map(str, key))}; copy the data folder of this version")
            node = node[name]
        return node

    def _check_text(self, node: object, key: tuple[str, ...]) -> str:
        if not isinstance(node, str):
            raise SettingsError(f"{self._name}: {'.'.join(map(str, key))} must be text, not {type(node).__name__}")
        return node

    def _check_list(self, node: object, key: tuple[str, ...]) -> list[object]:
        if not isinstance(node, list):
            raise SettingsError(f"{self._name}: {'.'.join(map(str, key))} must be a list, not {type(node).__name__}")
        return node

    def _check_mapping(self, node: object, key: tuple[str, ...]) -> Mapping[str, object]:
        if not isinstance(node, Mapping):
            raise SettingsError(f"{self._name}: {'.'.join(map(str, key))} must be a table, not {type(node).__name__}")
        return node


@cache
def load_lexicon(name: str) -> Lexicon:
    """Raises SettingsError if the file is missing or holds no table."""
    return Lexicon(f"data/language/{name}.yaml", read_language_file(name))


def read_language_file(name: str) -> Mapping[str, object]:
    path = FOLDER / f"{name}.yaml"
    try:
        content = yaml.load(path.read_bytes(), Loader=_LOADER)  # noqa: S506 — one of the two safe loaders
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        raise SettingsError(f"{path}: {error}") from None
    if not isinstance(content, Mapping):
        raise SettingsError(f"{path}: must be a table of word lists")
    return content
