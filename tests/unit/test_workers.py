"""`pytest --workers` runs each test once, in processes that share nothing, and tells of each what came of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workers import group

FILE = """
import os
import pytest

@pytest.fixture(scope="session", autouse=True)
def kept(tmp_path_factory):
    yield
    open({folder!r} + "/ended", "a").write("x")

def note(name):
    open({folder!r} + "/ran", "a").write(name + "\\n")

@pytest.mark.parametrize("n", range(20))
def test_passes(n, tmp_path):
    (tmp_path / "own").write_text("x")
    note(f"passes-{{n}}-{{os.getpid()}}")

def test_fails():
    print("said before")
    note("fails")
    assert [1] == [2]

def test_dies():
    note("dies")
    os._exit(0)

def test_is_expected_to_fail():
    pytest.xfail("as it says itself")

def test_is_skipped():
    pytest.skip("reason")

@pytest.fixture
def broken():
    yield
    raise KeyError("at the end")

def test_breaks_after(broken):
    note("breaks")
"""


SHARING = """
import os, tempfile

SHARED = tempfile.TemporaryDirectory(dir={folder!r})

def pytest_sessionfinish():
    open({folder!r} + "/shared", "a").write(str(os.path.exists(SHARED.name)))
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-m", "pytest", "-p", "tests.workers", "-p", "no:cacheprovider", "-p", "no:schemathesis", "-p", "no:langsmith_plugin",
               "-c", os.devnull, "--rootdir", str(folder), "-o", "tmp_path_retention_policy=all", "--basetemp", str(folder / "temporary"), str(folder / "test_it.py"), *arguments]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, timeout=100, check=False)


@pytest.mark.slow
def test_each_test_runs_once_and_tells_how_it_ended(tmp_path: Path) -> None:
    """A test that ends its worker has failed, and others go on; what the main process has opened is there to its end."""
    (tmp_path / "test_it.py").write_text(FILE.format(folder=str(tmp_path)))
    (tmp_path / "conftest.py").write_text(SHARING.format(folder=str(tmp_path)))
    ended = run(tmp_path, "--workers", "2")
    assert ended.returncode == 1, ended.stderr
    assert "21 passed, 1 skipped, 1 xfailed, 1 error" in ended.stdout, ended.stdout
    assert "2 failed" in ended.stdout
    for words in ("the worker died in test_it.py::test_dies", "assert [1] == [2]", "said before", "KeyError: 'at the end'"):
        assert words in ended.stdout
    ran = (tmp_path / "ran").read_text().split()
    assert sorted(name.rsplit("-", 1)[0] for name in ran if name.startswith("passes")) == sorted(f"passes-{n}" for n in range(20))
    assert sorted(name for name in ran if not name.startswith("passes")) == ["breaks", "dies", "fails"]
    assert sum(not own.parent.is_symlink() for own in (tmp_path / "temporary").glob("worker*/test_passes*/own")) == 20
    assert set((tmp_path / "ended").read_text()) == {"x"}
    assert (tmp_path / "shared").read_text() == "True"
    assert "Traceback" not in ended.stderr


@pytest.mark.slow
def test_a_run_that_is_to_stop_at_a_failure_stops(tmp_path: Path) -> None:
    """After the failure no worker begins anything but what it was in."""
    text = "import pytest\ndef test_fails():\n    assert 0\n@pytest.mark.parametrize('n', range(500))\ndef test_passes(n):\n    pass\n"
    (tmp_path / "test_it.py").write_text(text)
    ended = run(tmp_path, "--workers", "2", "-x")
    assert ended.returncode == 1, ended.stderr
    assert "stopping after 1 failures" in ended.stdout
    assert "500 passed" not in ended.stdout


def test_what_starts_something_together_stays_together() -> None:
    """A file of end-to-end tests is one group, and so are the cases of a quick test; other cases go where there is room."""
    names = ["tests/e2e/test_a.py::test_1", "tests/unit/gate/test_b.py::test_2[x]", "tests/e2e/test_a.py::test_3[x]", "tests/unit/gate/test_b.py::test_2[y]",
             "tests/contract/test_c.py::test_4[x]", "tests/contract/test_c.py::test_4[y]"]  # fmt: skip
    assert list(group(names)) == [[0, 2], [1, 3], [4], [5]]
