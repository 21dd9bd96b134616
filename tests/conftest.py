"""What every test may ask for."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from postgres_kit import QUICK, NoPostgres, Server, serving


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A running PostgreSQL, started when first asked for; a test that needs it is skipped with one line where none can run."""
    with ExitStack() as stack:
        try:
            server = stack.enter_context(serving(*QUICK))
        except NoPostgres as reason:
            pytest.skip(str(reason))
        yield server
