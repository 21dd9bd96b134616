"""The program's own log: one form for every logger, secrets masked, nobody's words, and the trace of the work that wrote it."""

import ast
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import BaseModel

from bot.monitoring.logging_setup import JsonLines, TextLines, configure_logging
from state.journal.thread_worker import ThreadWorker
from state.trace import bind_trace

ROOT = Path(__file__).parents[4]
SHIPPED = ("engines", "bot", "orchestrator", "bitrix", "state")
LEVELS = {"debug", "info", "warning", "error", "critical", "exception"}
SECRET = "https://company.bitrix24.ru/rest/1/verysecretcode/crm.deal.get"

Written = Callable[[], str]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Written]:
    """What the program writes; logging is put back afterwards."""
    root, level = logging.getLogger(), logging.getLogger().level
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    yield lambda: "".join(capsys.readouterr())
    for handler in [one for one in root.handlers if isinstance(one.formatter, JsonLines | TextLines)]:
        root.removeHandler(handler)
    root.setLevel(level)
    logging.captureWarnings(capture=False)


class Shape(BaseModel):
    number: int


def fall() -> None:
    raise ConnectionError(SECRET)


def read(text: str) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("logger", ["orchestrator.turns.turn", "uvicorn.error", "aiogram.event", "alembic.runtime.migration", "asyncio"])
def test_each_logger_writes_one_json_object_a_line(written: Written, logger: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With time, level, action and message, ids beside them, secrets masked in all of them and the exception in one field."""
    for heard in (
        logging.getLogger(logger),
        logging.getLogger(logger.split(".", maxsplit=1)[0]),
    ):  # servers of other tests set up uvicorn's
        for name, value in (("level", logging.NOTSET), ("handlers", []), ("propagate", True)):
            monkeypatch.setattr(heard, name, value)
    configure_logging("INFO", "json")
    log = logging.getLogger(logger)
    extra = {"action": "portal_called"} if logger.startswith("orchestrator") else {}
    log.warning("called %s\nand so on", SECRET, extra=extra | {"row": "0190", "token": "abcdefgh", "seen": SECRET})
    try:
        Shape(number="Иван Петров, +7 900 123-45-67")  # type: ignore[arg-type]
    except ValueError:
        log.exception("failed", extra=extra)

    told = written()
    first, second = read(told)
    assert first["action"] == (extra.get("action") or logger.partition(".")[0])
    assert (first["level"], first["logger"], first["row"]) == ("WARNING", logger, "0190")
    assert first["time"].endswith("Z")
    assert "verysecretcode" not in told
    assert first["token"] == "***"
    assert "number: int_parsing" in second["exception"]
    assert "Traceback" in second["exception"]
    assert "Петров" not in second["exception"].replace(
        'Shape(number="Иван Петров, +7 900 123-45-67")', ""
    )  # the source line of this very test


def test_text_lines_say_the_same_and_no_message_makes_a_second_line(written: Written) -> None:
    """What a stranger wrote cannot look like a line of ours."""
    configure_logging("INFO")
    with bind_trace("0190aa"):
        logging.getLogger("bot").info("sent %s\n2026-11-22T00:00:00Z INFO forged", SECRET, extra={"action": "sent", "session": "tg:7"})

    (line,) = written().splitlines()
    assert " INFO bot [sent] sent " in line
    assert line.endswith("trace=0190aa session=tg:7")
    assert "verysecretcode" not in line


async def test_the_trace_stands_in_the_lines_of_tasks_and_of_the_stores_threads(written: Written) -> None:
    """And in no line of other work."""
    configure_logging("INFO", "json")
    log, worker = logging.getLogger("state"), ThreadWorker("traced")
    with bind_trace("0190aa"):
        await worker.call(log.info, "in the thread", extra={"action": "x"})
    await worker.call(log.info, "of nobody", extra={"action": "x"})
    await worker.aclose()

    assert [line.get("trace_id") for line in read(written())] == ["0190aa", None]


def test_what_ends_the_program_is_one_masked_line(written: Written) -> None:
    """Not a bare traceback with an address in it."""
    configure_logging("INFO", "json")
    try:
        fall()
    except ConnectionError as error:
        sys.excepthook(type(error), error, error.__traceback__)

    told = written()
    (line,) = read(told)
    assert (line["level"], line["action"]) == ("CRITICAL", "fallen")
    assert "***" in line["exception"]
    assert "verysecretcode" not in told


@pytest.mark.long
def test_each_log_call_of_the_shipped_packages_has_an_action_word() -> None:
    """A literal one, of small letters; so that ops can look for it."""
    calls = [found for package in SHIPPED for path in sorted((ROOT / package).rglob("*.py")) for found in log_calls(path)]
    assert len(calls) > 50
    assert [f"{path.relative_to(ROOT)}:{call.lineno}" for path, call in calls if not has_action(call)] == []


def log_calls(path: Path) -> Iterator[tuple[Path, ast.Call]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LEVELS:
            owner = node.func.value
            made = isinstance(owner, ast.Call) and ast.unparse(owner.func).endswith("getLogger")
            if made or (isinstance(owner, ast.Name) and owner.id.lower() in {"log", "_log", "logger", "logging"}):
                yield path, node


def has_action(call: ast.Call) -> bool:
    extra = next((keyword.value for keyword in call.keywords if keyword.arg == "extra"), None)
    if not isinstance(extra, ast.Dict):
        return False
    given = {key.value: value for key, value in zip(extra.keys, extra.values, strict=True) if isinstance(key, ast.Constant)}
    word = given.get("action")
    return isinstance(word, ast.Constant) and isinstance(word.value, str) and word.value.replace("_", "").replace(".", "").isalnum()
