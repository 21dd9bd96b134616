"""`make test` looks at fewer examples of random searches, `make fuzz` at all of them."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import conftest


@pytest.mark.parametrize(
    ("given_settings", "profile", "examples"),
    [
        (settings(max_examples=300), "patient", 100),
        (settings(max_examples=60), "patient", 25),
        (settings(max_examples=20), "patient", 20),
        (settings(max_examples=300, derandomize=True, database=None), "patient", 300),
        (settings(max_examples=300), "long", 300),
    ],
)
def test_only_what_is_drawn_anew_each_time_is_cut(given_settings: settings, profile: str, examples: int) -> None:
    """A third, but 25 at least; a fixed row of examples stays whole, and so does everything else that the test has set."""

    @settings(given_settings, deadline=700)
    @given(st.integers())
    def search(number: int) -> None:
        assert isinstance(number, int)

    before = settings.get_current_profile_name()
    settings.load_profile(profile)
    try:
        conftest.pytest_collection_modifyitems(
            [cast("pytest.Item", SimpleNamespace(function=search)), cast("pytest.Item", SimpleNamespace())]
        )
    finally:
        settings.load_profile(before)
    found = cast("Any", search)._hypothesis_internal_use_settings
    assert (found.max_examples, found.deadline.total_seconds(), found.derandomize) == (examples, 0.7, given_settings.derandomize)
