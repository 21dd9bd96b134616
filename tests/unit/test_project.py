"""The project's own rules about its tests: where they are, what they reach, what stops a merge."""

import ast
import os
import shutil
import socket
import subprocess
import tomllib
from pathlib import Path

import pytest
from pytest_socket import SocketConnectBlockedError

from tests.unit.spine_kit import World, message, reply, step

ROOT = Path(__file__).resolve().parents[2]
PYTEST = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


@pytest.mark.req("S004-77")
def test_every_test_is_under_tests_and_found_by_plain_pytest() -> None:
    """Pytest looks there and nowhere else; no test file stands elsewhere, and no test in a file that it does not read."""
    assert PYTEST["testpaths"] == ["tests"]
    hidden = {".venv", ".git", "build"}
    sources = [path.relative_to(ROOT) for path in ROOT.rglob("*.py") if not hidden & set(path.relative_to(ROOT).parts)]
    read = [path for path in sources if path.parts[0] == "tests" and path.name.startswith("test_")]
    assert len(read) > 100
    assert [path for path in sources if path.name.startswith("test_") and path not in read] == []
    for path in sources:
        if path.parts[0] == "tests" and path not in read:
            tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
            assert [node.name for node in ast.walk(tree) if isinstance(node, FUNCTION) and node.name.startswith("test_")] == [], path


@pytest.mark.req("S004-78")
def test_a_test_that_wants_the_network_is_refused_it() -> None:
    """192.0.2.1 is an address of documentation: refused before a packet leaves, while this machine's own loopback is open."""
    with socket.socket() as probe, pytest.raises(SocketConnectBlockedError), pytest.warns(UserWarning, match=r"192\.0\.2\.1"):
        probe.connect(("192.0.2.1", 443))
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as mine:
        assert mine.getpeername() == server.getsockname()


@pytest.mark.req("S004-78")
async def test_a_whole_turn_of_a_test_meets_a_scripted_model_and_portal_only(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the message to the answer, a call to the portal between: no socket connects anywhere, not even here."""
    connected: list[object] = []
    monkeypatch.setattr(socket.socket, "connect", lambda _, address: connected.append(address))
    world.model.will(reply(step("tasks.task.add", {"fields": {"TITLE": "Позвонить"}})), reply(text="Создано."))
    await world.work(message("создай задачу позвонить"))
    assert len(world.model.prompts) == 2
    assert len(world.portal.written("tasks.task.add")) == 1
    assert [row.body["notices"][0]["code"] for row in world.outbox()] == ["made"]
    assert connected == []


@pytest.mark.slow
@pytest.mark.req("S004-80")
@pytest.mark.skipif(shutil.which("make") is None, reason="no make on this machine")
def test_make_test_and_test_long_run_everything_between_them_and_fail_with_it() -> None:
    """Each test is in exactly one of the two; those of an hour are in `make crash`. CONTRIBUTING asks for the first before every commit, CI for both."""
    assert "`make fmt check test` before every commit" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").endswith("\nmake check\nmake test\nmake test-long\n")
    plain = {"PATH": os.environ["PATH"]}
    order = ["make", "--silent", "-C", str(ROOT), "--old-file=.venv/.dev", "PYTHON=python3"]
    for word, chosen in (("test", "not long"), ("test-long", "long")):
        words = subprocess.run([*order, word, "RUN=echo"], capture_output=True, text=True, check=True, env=plain).stdout
        assert words == f"pytest -n 3 -m {chosen} and not crash_long\n"
        assert subprocess.run([*order, word, "RUN=false"], capture_output=True, check=False, env=plain).returncode != 0


@pytest.mark.req("S004-80")
def test_no_test_is_put_aside() -> None:
    """An expected failure would let a merge through that breaks something; a warning is a failure too."""
    assert PYTEST["filterwarnings"] == ["error"]
    assert "--strict-markers" in PYTEST["addopts"]
    marks = [f"mark.{name}" for name in ("xfail", "skip(")]
    for path in (ROOT / "tests").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert [mark for mark in marks if mark in text] == [], path
