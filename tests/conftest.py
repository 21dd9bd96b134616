"""What every test may ask for."""

import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache

import pytest
from hypothesis import settings
from postgres_kit import QUICK, NoPostgres, Server, serving

# Every client of httpx and aiogram reads the machine's certificates anew, 40 ms each, and talks plain HTTP on loopback with them.
ssl.create_default_context = cache(ssl.create_default_context)
settings.register_profile("long")  # pytest --hypothesis-profile long: see tests/unit/gate/test_gate_fuzz.py


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A running PostgreSQL, started when first asked for; a test that needs it is skipped with one line where none can run."""
    with ExitStack() as stack:
        try:
            server = stack.enter_context(serving(*QUICK))
        except NoPostgres as reason:
            pytest.skip(str(reason))
        yield server
