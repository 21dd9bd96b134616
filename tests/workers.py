"""Runs the collected tests in processes forked from the one that collected them: `pytest --workers 3`.

Twenty thousand tests take each process of xdist ten to twenty seconds to collect, and a gigabyte of memory; here one collects, and its
workers begin with what it has imported. A worker is told what to run a group ahead, so that it knows which fixtures the next test needs.
"""

import atexit
import os
import re
import sys
import traceback
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

import pytest

TOGETHER = ("crash/test_two_processes.py", "contract/test_sandbox_portal_peers.py")
"""Files whose tests start something for all of them, beside those of end-to-end tests."""
QUICK = re.compile("tests/unit/[a-z_]+/")
"""Folders of tests whose cases take milliseconds: those of one test go together."""
AHEAD = 2
"""How many tests a worker should know of."""
OTHERS = 5
"""How many workers that died are replaced by another."""


def name_group(nodeid: str) -> str:
    """Return what is the same for tests that one worker runs one after another.

    That is the file of end-to-end tests, so that what it starts is started once, and the test of which quick ones are the cases.
    """
    file = nodeid.split("::", maxsplit=1)[0]
    if "/e2e/" in file or file.endswith(TOGETHER):
        return file
    return nodeid.partition("[")[0] if QUICK.match(file) else nodeid


def group(nodeids: Sequence[str]) -> "deque[list[int]]":
    """Return the places of the tests by group, in order."""
    found: dict[str, list[int]] = {}
    for place, nodeid in enumerate(nodeids):
        found.setdefault(name_group(nodeid), []).append(place)
    return deque(found.values())


@dataclass
class _Worker:
    pid: int
    connection: Connection
    given: deque[int] = field(default_factory=deque)
    """The tests that it has not told the end of, in its order."""
    is_told_all: bool = False

    def give(self, groups: "deque[list[int]]") -> None:
        """Tell it of more, if it needs that."""
        while not self.is_told_all and len(self.given) < AHEAD:
            places = groups.popleft() if groups else None
            self.is_told_all = places is None
            self.given.extend(places or ())
            with suppress(OSError):  # it has died: it is seen to have
                self.connection.send(places)


class _Run:
    """Deals the tests of a session out and reports what came of them as if they had run here."""

    def __init__(self, session: pytest.Session, many: int) -> None:
        self.session, self.config = session, session.config
        self.groups = group([item.nodeid for item in session.items])
        asked = self.config.option
        self.shows_all = asked.durations is not None or bool(asked.xmlpath) or asked.verbose > 0
        self.workers: list[_Worker] = []
        self.started = 0
        self.many = many

    def run(self) -> None:
        """Run all tests; raises what ends a session early."""
        self.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # the workers' are in it
        try:
            for _ in range(self.many):
                self._fork()
            for _ in range(AHEAD):  # in turn, so that each has its first test soon
                for worker in self.workers:
                    worker.give(self.groups)
            while self.workers:
                for ready in wait([worker.connection for worker in self.workers]):
                    self._hear(next(worker for worker in self.workers if worker.connection is ready))
            if self.groups:
                raise self.session.Interrupted("all workers died")
        finally:
            self._end()

    def _fork(self) -> _Worker:
        here, there = Pipe()
        self.config.get_terminal_writer().flush()
        pid = os.fork()
        if pid == 0:
            here.close()
            for other in self.workers:
                other.connection.close()
            _work_and_leave(self.session, there, self.started)
        there.close()
        self.started += 1
        self.workers.append(_Worker(pid, here))
        return self.workers[-1]

    def _hear(self, worker: _Worker) -> None:
        try:
            place, told = worker.connection.recv()
        except (EOFError, OSError):
            self.workers.remove(worker)
            worker.connection.close()
            os.waitpid(worker.pid, 0)
            if worker.given:
                self._replace(worker)
            return
        worker.given.remove(place)
        worker.give(self.groups)
        for report in self._read(self.session.items[place], told):
            self.config.hook.pytest_runtest_logreport(report=report)
        if self.session.shouldfail:
            raise self.session.Failed(self.session.shouldfail)
        if self.session.shouldstop:
            raise self.session.Interrupted(self.session.shouldstop)

    def _read(self, item: pytest.Item, told: Sequence[Any]) -> Iterator[Any]:
        """The reports of one test: in full, or as what its phases took if it passed."""
        for one in told:
            if isinstance(one, tuple):
                when, start, stop = one
                if self.shows_all or when == "call":
                    yield pytest.TestReport(
                        item.nodeid, item.location, {}, "passed", None, when, duration=stop - start, start=start, stop=stop
                    )
            else:
                yield self.config.hook.pytest_report_from_serializable(config=self.config, data=one)

    def _replace(self, dead: _Worker) -> None:
        """Say that the test died with its worker, and let another do the rest."""
        item = self.session.items[dead.given.popleft()]
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", f"the worker died in {item.nodeid}", "call")
        self.config.hook.pytest_runtest_logreport(report=report)
        if dead.given:
            self.groups.appendleft(list(dead.given))
        if self.started < self.many + OTHERS:
            self._fork().give(self.groups)

    def _end(self) -> None:
        for worker in self.workers:
            worker.connection.close()  # it runs no other test
        for worker in self.workers:
            with suppress(ChildProcessError):
                os.waitpid(worker.pid, 0)


class _Teller:
    """In a worker: keeps the reports of the test that runs."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.told: list[Any] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep it, a short one of a phase that passed and has nothing to show."""
        if (
            type(report) is pytest.TestReport
            and report.passed
            and not report.sections
            and not report.user_properties
            and not hasattr(report, "wasxfail")
        ):
            self.told.append((report.when, report.start, report.stop))
        else:
            self.told.append(self.config.hook.pytest_report_to_serializable(config=self.config, report=report))


class _Mute:
    """Stands in the place of the reporter of the terminal, whose writer some ask for."""

    def __init__(self, writer: Any) -> None:
        self._tw = writer


def _work_and_leave(session: pytest.Session, connection: Connection, number: int) -> None:
    """Be a worker, to the end of the process; nothing of the main one is undone in it."""
    code = 1
    try:
        _settle(session.config, number)
        _work(session, connection)
        code = 0
    except (EOFError, BrokenPipeError, KeyboardInterrupt):  # nobody wants more of it
        session._setupstate.teardown_exact(None)
    except BaseException:  # noqa: BLE001 - it ends here, whatever it is
        traceback.print_exc(file=sys.__stderr__)
    finally:
        atexit._run_exitfuncs()
        os._exit(code)


def _settle(config: pytest.Config, number: int) -> None:
    """Make what the fork shares with the others its own: what is to be done at the end, folders, what is captured, and the terminal."""
    atexit._clear()  # what the main process has opened it will close itself
    weakref.finalize._registry.clear()  # type: ignore[attr-defined]
    weakref.finalize._registered_with_atexit = False  # type: ignore[attr-defined]
    factory, plugins = config._tmp_path_factory, config.pluginmanager  # type: ignore[attr-defined]
    factory._basetemp = factory.getbasetemp() / f"worker{number}"
    factory._basetemp.mkdir(mode=0o700)
    capture = plugins.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    reporter = plugins.getplugin("terminalreporter")
    plugins.unregister(reporter)
    plugins.register(_Mute(reporter._tw), "terminalreporter")


def _work(session: pytest.Session, connection: Connection) -> None:
    """Run what it is told until it is told that there is no more."""
    teller = _Teller(session.config)
    session.config.pluginmanager.register(teller)
    known: deque[int | None] = deque()
    while True:
        while len(known) < AHEAD and (not known or known[-1] is not None):
            places = connection.recv()
            known.extend([None] if places is None else places)
        place = known.popleft()
        if place is None:
            return
        item, following = session.items[place], session.items[known[0]] if known[0] is not None else None
        teller.told = []
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        connection.send((place, teller.told))


def pytest_addoption(parser: pytest.Parser) -> None:
    """How many workers."""
    parser.addoption("--workers", type=int, default=0, help="run the tests in so many processes, forked after one has collected them")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in workers, if that was asked for and there is something to run."""
    asked = session.config.option
    if not asked.workers or asked.collectonly or asked.usepdb or session.testsfailed or len(session.items) < AHEAD:
        return None
    _Run(session, asked.workers).run()
    return True
