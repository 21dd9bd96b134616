from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Literal

from bot.cli.inputs import read_text
from bot.cli.ops import escape_text
from orchestrator.documents.reading import Reading, read_document
from orchestrator.domain.errors import SettingsError

SUFFIXES: Final[Mapping[str, Literal["json", "yaml"]]] = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}
TEST: Final = ".test"
"""Stands in the name of a file of dialogues, before its ending."""


def read_file(path: Path) -> Reading:
    """With its mistakes. Raises SettingsError."""
    return read_document(read_text(path), SUFFIXES.get(path.suffix.lower(), "auto"))


def get_key(path: Path) -> str:
    return path.name.removesuffix(path.suffix)


def list_files(folder: Path) -> list[Path]:
    """By name; JSON or YAML that holds no dialogues."""
    try:
        files = sorted(one for one in folder.iterdir() if one.suffix.lower() in SUFFIXES and one.is_file())
    except OSError as error:
        raise SettingsError(escape_text(f"{folder}: cannot be read ({error.strerror})")) from None
    return [one for one in files if not one.stem.endswith(TEST)]


def expand_paths(paths: list[Path]) -> Iterator[Path]:
    """Folders become their definitions. Raises SettingsError for one without any."""
    for path in paths:
        if path.is_dir():
            files = list_files(path)
            if not files:
                raise SettingsError(escape_text(f"{path} has no definition: a file such as NAME.yaml is needed"))
            yield from files
        else:
            yield path
