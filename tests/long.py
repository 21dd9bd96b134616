"""Which tests are `long`: `make test-long` runs them and `make test` does not. What a test is or asks for decides, and a mark where only measuring can.

Long are whole folders of processes, files of programs that are killed, what needs PostgreSQL or a browser, the sandbox's own tests, and properties
of more than 100 examples.
"""

from pathlib import Path
from typing import Final

import pytest

TESTS: Final = Path(__file__).resolve().parent
FOLDERS: Final = tuple(str(TESTS / name) for name in ("crash", "fuzz"))
OWN_OF_SANDBOX: Final = "test_sandbox_"
KILLED: Final = "_killed"
POSTGRES: Final = "postgres"
"""The fixture, and how its parameter begins where a test takes several stores."""
MOST_EXAMPLES: Final = 100
_EXAMPLES: Final = "_hypothesis_internal_use_settings"
_SHORT_RUN: Final = "not long"


def is_short_run(config: pytest.Config) -> bool:
    """Return whether the run is `make test`, or another that leaves the long tests out."""
    return _SHORT_RUN in config.option.markexpr


def is_long_path(path: Path) -> bool:
    """Return whether every test of this file or folder is long."""
    return str(path).startswith(FOLDERS) or path.name.startswith(OWN_OF_SANDBOX) or KILLED in path.name


def is_long(item: pytest.Item) -> bool:
    """Return whether the test is long by a rule."""
    if is_long_path(item.path) or item.get_closest_marker("browser") is not None:
        return True
    if POSTGRES in getattr(item, "fixturenames", ()) or any(_names_postgres(value) for value in _list_parameters(item)):
        return True
    examples = getattr(getattr(item, "obj", None), _EXAMPLES, None)
    return examples is not None and examples.max_examples > MOST_EXAMPLES


def _list_parameters(item: pytest.Item) -> list[object]:
    found = getattr(item, "callspec", None)
    return list(found.params.values()) if found is not None else []


def _names_postgres(value: object) -> bool:
    return isinstance(value, str) and value.startswith(POSTGRES)
