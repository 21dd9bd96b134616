"""Which tests are `long`: `make test-long` runs them and `make test` does not. What a test is or asks for decides, and a mark where only measuring can.

Long are whole folders of processes, files of programs that are killed or in trouble, what needs PostgreSQL or a browser, the sandbox's own tests, properties
of more than 100 examples, and most cases of a test that builds a world for each of many.
"""

from collections.abc import Iterator, Sequence
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Final

import pytest

TESTS: Final = Path(__file__).resolve().parent
FOLDERS: Final = tuple(str(TESTS / name) for name in ("crash", "fuzz", "unit/state/transfer", "unit/services/rag"))
"""Programs that are killed, requests by the thousand, databases that are moved, and readers of documents, which are processes."""
OWN_OF_SANDBOX: Final = "test_sandbox_"
HARDSHIPS: Final = ("_killed", "_survive", "test_e2e_trouble", "test_e2e_tricks", "test_e2e_doctor")
"""Names of files in which programs die, the parties of a real bot fail or deceive it, or an installation is looked at from outside."""
POSTGRES: Final = "postgres"
"""The fixture, and how its parameter begins where a test takes several stores."""
MOST_EXAMPLES: Final = 100
SAMPLED: Final = tuple(str(TESTS / name) for name in ("unit", "regression", "dialogues"))
FEW, ONE_OF = 4, 6
"""From how many cases on a test that builds a world on disk for each is sampled, and which part of them stays in `make test`."""
FEW_IN_MEMORY: Final = 8
"""The same for a test that builds one in memory: one that is a coroutine."""
ON_DISK: Final = "tmp_path"
_EXAMPLES: Final = "_hypothesis_internal_use_settings"
_SHORT_RUN: Final = "not long"


def is_short_run(config: pytest.Config) -> bool:
    """Return whether the run is `make test`, or another that leaves the long tests out."""
    return _SHORT_RUN in config.option.markexpr


def is_long_path(path: Path) -> bool:
    """Return whether every test of this file or folder is long."""
    return str(path).startswith(FOLDERS) or path.name.startswith(OWN_OF_SANDBOX) or any(word in path.name for word in HARDSHIPS)


def is_long(item: pytest.Item) -> bool:
    """Return whether the test is long by a rule."""
    if is_long_path(item.path) or item.get_closest_marker("browser") is not None:
        return True
    if POSTGRES in getattr(item, "fixturenames", ()) or any(_names_postgres(value) for value in _list_parameters(item)):
        return True
    examples = getattr(getattr(item, "obj", None), _EXAMPLES, None)
    return examples is not None and examples.max_examples > MOST_EXAMPLES


def find_left_out(items: Sequence[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield the cases that are long because a test has too many, few of them where it builds a world for each.

    The first and every sixth are not.
    """
    tests: dict[tuple[str, int], list[pytest.Item]] = {}
    for item in items:
        if str(item.path).startswith(SAMPLED):
            tests.setdefault((item.nodeid.partition("[")[0], _find_most(item)), []).append(item)
    for (_, most), cases in tests.items():
        if len(cases) >= most:
            yield from (item for number, item in enumerate(cases) if number % ONE_OF)


def _find_most(item: pytest.Item) -> int:
    """Return from how many cases on a test is sampled."""
    if ON_DISK in getattr(item, "fixturenames", ()):
        return FEW
    return FEW_IN_MEMORY if iscoroutinefunction(getattr(item, "obj", None)) else MOST_EXAMPLES + 1


def _list_parameters(item: pytest.Item) -> list[object]:
    found = getattr(item, "callspec", None)
    return list(found.params.values()) if found is not None else []


def _names_postgres(value: object) -> bool:
    return isinstance(value, str) and value.startswith(POSTGRES)
