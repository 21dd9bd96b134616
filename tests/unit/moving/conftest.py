"""Homes for the tests of backup, restore and moving."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from moving_kit import Homes, some_homes


@pytest.fixture
def homes(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Homes]:
    with some_homes(tmp_path, request) as made:
        yield made
