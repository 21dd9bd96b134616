"""What every test may ask for."""

import gc
import importlib.abc
import importlib.util
import re
import resource
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests.forker import forking, share_what_is_read
from tests.long import find_left_out, is_long, is_long_path, is_short_run

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


gc.disable()  # what is imported and collected stays: looking through it for garbage takes a third of the time until the first test
sys.meta_path.insert(0, LazyAiogram())
share_what_is_read()
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # how busy the machine is says nothing about an example
settings.register_profile("patient", _PATIENT)
settings.register_profile("long", _PATIENT)  # pytest --hypothesis-profile long: see tests/unit/gate/test_gate_fuzz.py
settings.load_profile("patient")
TERSE = "sdelka_terse"
"""What a worker is told under this name: whether nobody looks at more than what failed."""


@pytest.fixture(autouse=True)
def no_secrets_of_other_tests() -> Iterator[None]:
    """Building the product hands its secrets to everything that writes texts in this process: they are those of one test."""
    yield
    if "bitrix.masking" in sys.modules:
        sys.modules["bitrix.masking"].install_secrets(())


def pytest_configure(config: pytest.Config) -> None:
    """One forker for all workers of a run, which tell little of tests that pass."""
    if hasattr(config, "workerinput"):
        if config.workerinput.get(TERSE):
            tell_less(config)
    else:
        stack = ExitStack()
        stack.callback(tell_processor_time, config)
        stack.enter_context(forking())
        config.add_cleanup(stack.close)


def tell_processor_time(config: pytest.Config) -> None:
    """Say what the run cost: the seconds of all its processes together, which depend little on what else the machine does."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None or not config.getoption("numprocesses", None):
        return
    spent = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    terminal.write_line(f"{sum(one.ru_utime + one.ru_stime for one in spent):.0f} CPU seconds")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: WorkerController) -> None:
    """Let a worker know whether it is to tell little: not where each test is named, timed or written to a file."""
    asked = node.config.option
    node.workerinput[TERSE] = asked.verbose < 0 and asked.durations is None and asked.xmlpath is None and not asked.debug


def tell_less(config: pytest.Config) -> None:
    """Send two messages for a test that passes, not six: that its call passed, and that it is over. The others cost 1.5 ms a test."""
    (teller,) = (plugin for plugin in config.pluginmanager.get_plugins() if type(plugin).__name__ == "WorkerInteractor")
    send = teller.sendevent

    def send_what_is_shown(name: str, **told: Any) -> None:
        if name == "testreport":
            report = told["data"]
            is_shown = report["when"] == "call" or report["outcome"] != "passed" or report["sections"]
        else:
            is_shown = name not in {"logstart", "logfinish"}
        if is_shown:
            send(name, **told)

    teller.sendevent = send_what_is_shown


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file of which every test is left out."""
    return True if is_short_run(config) and is_long_path(collection_path) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the long tests their mark, before pytest looks who has it."""
    for item in (*filter(is_long, items), *find_left_out(items)):
        item.add_marker("long")


def pytest_collection_finish() -> None:
    """From here on databases are made as the first one was, and garbage is looked for, in what the tests make."""
    if "state.sql.schema" in sys.modules:
        from tests.shared_schema import share_schema  # noqa: PLC0415 - Alembic is not imported for a test that needs no database

        share_schema()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)  # by thirty times less often than by default: a test's world is small, and gone with it
    gc.enable()


TOGETHER = ("crash/test_two_processes.py", "contract/test_sandbox_portal_peers.py", "bot/i18n/test_i18n.py")
"""Other files whose tests start or read something for all of them."""


QUICK = re.compile("tests/unit/[a-z_]+/")
"""Folders of tests whose cases take milliseconds."""


class ByServers(LoadScopeScheduling):
    """A file of end-to-end tests stays with one worker, so that what it starts is started once; other tests go where there is room.

    The cases of a quick test go together: handing out each of them takes as long as many of them do.

    xdist's own groups do nothing under pytest 9, which no longer takes an id from them.
    """

    _places: dict[str, int] | None = None
    """The place of each test in the collection, which is the same in every worker."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", maxsplit=1)[0]
        if "/e2e/" in file or file.endswith(TOGETHER):
            return file
        return nodeid.partition("[")[0] if QUICK.match(file) else nodeid

    def _assign_work_unit(self, node: WorkerController) -> None:
        """Forget what the node has done, and know the place of each test: xdist looks through all of both for every single test."""
        done = self.assigned_work[node]
        for scope in [scope for scope, unit in done.items() if all(unit.values())]:
            del done[scope]
        if self._places is None:
            self._places = {nodeid: place for place, nodeid in enumerate(self.registered_collections[node])}
        scope, unit = self.workqueue.popitem(last=False)
        done[scope] = unit
        node.send_runtest_some([self._places[nodeid] for nodeid, completed in unit.items() if not completed])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByServers:
    """How tests are dealt out to the workers of `make test`."""
    return ByServers(config, log)


@pytest.fixture(scope="session")
def postgres(pytestconfig: pytest.Config) -> "Iterator[Server]":
    """A running PostgreSQL, started when first asked for; a test that needs it is skipped with one line where none can run."""
    if is_short_run(pytestconfig):
        pytest.fail("a test with PostgreSQL belongs to `make test-long`: tests/long.py must find the fixture's name or a parameter's")
    from tests.postgres_kit import QUICK, NoPostgres, serving  # noqa: PLC0415 - half a second that most files do not need

    with ExitStack() as stack:
        try:
            server = stack.enter_context(serving(*QUICK))
        except NoPostgres as reason:
            pytest.skip(str(reason))
        yield server
