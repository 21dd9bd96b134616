"""What every test may ask for."""

import gc
import importlib.abc
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.forker import forking, share_what_is_read
from tests.workers import pytest_addoption, pytest_runtestloop

if TYPE_CHECKING:
    from tests.postgres_kit import Server


class LazyAiogram(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports aiogram as the bot does when the first test file asks for it: a worker would spend six seconds on building its types."""

    _spec: ModuleSpec | None = None

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Import it here, and hand over what is imported then."""
        if fullname != "aiogram":
            return None
        sys.meta_path.remove(self)
        from bot.telegram.lazy_aiogram import import_aiogram  # noqa: PLC0415 - pydantic is not imported for a test that needs none

        import_aiogram()
        return importlib.util.spec_from_loader(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module that stands in `sys.modules` by now."""
        self._spec = sys.modules[spec.name].__spec__
        return sys.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """It has run already."""
        module.__spec__ = self._spec


__all__ = ["pytest_addoption", "pytest_runtestloop"]
gc.disable()  # what is imported and collected stays: looking through it for garbage takes a third of the time until the first test
sys.meta_path.insert(0, LazyAiogram())
share_what_is_read()
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # how busy the machine is says nothing about an example
settings.register_profile("patient", _PATIENT)
settings.register_profile("long", _PATIENT)  # pytest --hypothesis-profile long: see tests/unit/gate/test_gate_fuzz.py
settings.load_profile("patient")
FEWEST = 25
"""How many examples each random search looks at, at least."""


@pytest.fixture(autouse=True)
def no_secrets_of_other_tests() -> Iterator[None]:
    """Building the product hands its secrets to everything that writes texts in this process: they are those of one test."""
    yield
    if "bitrix.masking" in sys.modules:
        sys.modules["bitrix.masking"].install_secrets(())


def pytest_configure(config: pytest.Config) -> None:
    """One forker for all workers of a run, also for those of xdist."""
    if not hasattr(config, "workerinput"):
        stack = ExitStack()
        stack.enter_context(forking())
        config.add_cleanup(stack.close)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Let random searches look at a third of their examples, 25 at least, outside of `make fuzz`; those that are drawn anew each time."""
    if settings.get_current_profile_name() == "long":
        return
    for function in {getattr(item, "function", None) for item in items}:
        given: settings | None = getattr(function, "_hypothesis_internal_use_settings", None)
        if given is not None and not given.derandomize and given.max_examples > FEWEST:
            function._hypothesis_internal_use_settings = settings(given, max_examples=max(FEWEST, given.max_examples // 3))  # type: ignore[union-attr]


def pytest_collection_finish() -> None:
    """From here on garbage is looked for, in what the tests make, and their new databases share the migrations."""
    if "state.sql.schema" in sys.modules:
        from tests.shared_schema import share_schema  # noqa: PLC0415 - a second that most files do not need

        share_schema()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)  # by thirty times less often than by default: a test's world is small, and gone with it
    gc.enable()


@pytest.fixture(scope="session")
def postgres() -> "Iterator[Server]":
    """A running PostgreSQL, started when first asked for; a test that needs it is skipped with one line where none can run."""
    from tests.postgres_kit import QUICK, NoPostgres, serving  # noqa: PLC0415 - half a second that most files do not need

    with ExitStack() as stack:
        try:
            server = stack.enter_context(serving(*QUICK))
        except NoPostgres as reason:
            pytest.skip(str(reason))
        yield server
