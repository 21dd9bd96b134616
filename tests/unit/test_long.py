"""Which tests `make test` leaves to `make test-long`: what a test is or asks for decides."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.long import HARDSHIPS, TESTS, find_left_out, is_long, is_short_run


def item(path: str = "unit/test_x.py", test: object = None, **given_to: Any) -> pytest.Item:
    """A test as the rules see it."""
    marks, parameters, fixtures = (given_to.get(name, ()) for name in ("marks", "parameters", "fixtures"))
    found = SimpleNamespace(nodeid=given_to.get("nodeid", path), path=TESTS / path, obj=test, fixturenames=list(fixtures))
    found.get_closest_marker = lambda name: name if name in marks else None
    if parameters:
        found.callspec = SimpleNamespace(params=dict(enumerate(parameters)))
    return cast("pytest.Item", found)


@given(st.integers())
def by_default(_: int) -> None:
    """As many examples as the profile says."""


@settings(max_examples=100)
@given(st.integers())
def with_a_hundred(_: int) -> None:
    """The most that `make test` has."""


@settings(max_examples=101)
@given(st.integers())
def with_more(_: int) -> None:
    """One more."""


@pytest.mark.parametrize(
    "made",
    [
        item("crash/test_x.py"),
        item("fuzz/test_x.py"),
        item("contract/test_sandbox_portal_x.py"),
        item("unit/performers/test_moving_killed.py"),
        item("e2e/test_e2e_trouble.py", fixtures=["world", "servers"]),
        item("contract/test_runs_survive.py"),
        item("unit/state/transfer/test_x.py"),
        item(marks=["browser"]),
        item(fixtures=["world", "postgres"]),
        item(parameters=[1, "postgresql"]),
        item(test=with_more),
    ],
)
def test_what_takes_processes_servers_or_many_examples_is_long(made: pytest.Item) -> None:
    assert is_long(made)


@pytest.mark.parametrize(
    "made",
    [
        item(),
        item("contract/test_store_x.py", parameters=["memory"]),
        item("contract/test_store_x.py", parameters=["file", {"postgresql": 1}]),
        item("e2e/test_e2e_x.py", fixtures=["world", "servers"]),
        item("unit/gate/test_lists_on_sandbox.py"),
        item(test=by_default),
        item(test=with_a_hundred),
        item(test=lambda: None),
    ],
)
def test_what_runs_in_this_process_is_not(made: pytest.Item) -> None:
    assert not is_long(made)


def test_of_many_cases_that_build_a_world_on_disk_some_stay() -> None:
    """The first and every sixth, as of more than a hundred without a folder; few cases and contracts all do."""

    def cases(name: str, number: int, **more: Any) -> list[pytest.Item]:
        return [
            item(f"{more.get('folder', 'unit')}/test_x.py", nodeid=f"{name}[{one}]", fixtures=more.get("fixtures", ["tmp_path"]))
            for one in range(number)
        ]

    many, few = cases("many", 9), cases("few", 3)
    whole = [*cases("pure", 100, fixtures=["request"]), *cases("contract", 9, folder="contract")]
    assert list(find_left_out([*few, *many, *whole])) == [one for number, one in enumerate(many) if number not in {0, 6}]
    pure = cases("pure", 101, fixtures=["request"])
    assert list(find_left_out(pure)) == [one for number, one in enumerate(pure) if number % 6]


def test_a_run_without_long_tests_is_known_by_its_words() -> None:
    """Such a run imports no folder of long tests, and starts no PostgreSQL."""
    runs = {
        "not long and not crash_long": True,
        "not slow and not long": True,
        "long and not crash_long": False,
        "not crash_long": False,
        "": False,
    }
    found = {words: is_short_run(cast("pytest.Config", SimpleNamespace(option=SimpleNamespace(markexpr=words)))) for words in runs}
    assert found == runs


def test_every_folder_of_tests_is_there() -> None:
    """A renamed one would come into `make test` unseen."""
    assert [name for name in ("crash", "fuzz") if not (Path(TESTS) / name).is_dir()] == []
    assert [name for name in HARDSHIPS if not list(TESTS.rglob(f"test_*{name.removeprefix('test_')}*.py"))] == []
    assert list((TESTS / "contract").glob("test_sandbox_*.py"))
