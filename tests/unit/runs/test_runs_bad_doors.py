"""Bad input through Telegram and the terminal: forged buttons and wrong options are answered with a sentence, and nothing is stored."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from orchestrator.runtime import worker
from state.journal.run_index import RunFilter
from tests.unit.bot.telegram.door_kit import VERA
from tests.unit.runs.runs_kit import RUN, events, index, steps
from tests.unit.runs.test_runs_command import a_bot, type_in
from tests.unit.runs.test_runs_telegram import a_chat
from tests.unit.spine_kit import World

pytestmark = pytest.mark.req("G1")

ID = RUN.removeprefix("run:")
ASK = steps({"ask": "Какой тариф?", "options": ["Базовый", "Полный"]}, {"say": "Тариф: {s0}"})


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Pauses of the loop are shortened, and the settings name the database of the test."""
    monkeypatch.setattr(worker, "POLL", 0.02)
    monkeypatch.setenv("STATE_DIR", str(tmp_path))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)


def forge(data: str) -> list[str]:
    """Data that no button of the bot has, made of that of a real one."""
    head, _, option = data.rpartition(":")
    question = head.rpartition(":")[2]
    return [
        f"{head}:9", f"{head}:-1", f"{head}:x", f"{head}:", head, data.replace(question, "ffffffff"),
        data.replace(ID, "0190aaaa-0000-7000-8000-00000000ffff"), data.replace(ID, ""), f"a1:run:{ID}:explode", f"a1:run:{ID}:retry",
        f"a1:run:{ID}:resume", "a1:run", "a1:run:", f"{data}:{option}",
    ]  # fmt: skip


@pytest.mark.parametrize("number", range(14))
async def test_a_forged_button_is_answered_and_changes_nothing(tmp_path: Path, number: int) -> None:
    """A short answer comes to each, without codes, and the question stays open."""
    async with a_chat(tmp_path, ASK) as chat:
        told = await chat.press_data(forge(chat.buttons()["Базовый"])[number])
        check_sentence(told)
        assert (index(chat.world).status, events(chat.world, "RunWoken")) == ("waiting", [])


def check_sentence(told: str) -> None:
    """It is words for a person: no code, no name of a field, no English in a Russian chat."""
    assert any("а" <= letter <= "я" for letter in told.lower()), told
    assert not any(mark in told for mark in ("run-", "_", "{", "Error", "None")), told


async def test_a_button_in_another_chat_answers_nothing(tmp_path: Path) -> None:
    """A lead who copies the button into her own chat gets a short answer; the run asked somebody else."""
    async with a_chat(tmp_path, ASK) as chat:
        assert await chat.press_data(chat.buttons()["Базовый"], who=VERA, chat=VERA)
        assert (index(chat.world).status, events(chat.world, "RunWoken")) == ("waiting", [])


async def test_a_double_press_is_one_answer(tmp_path: Path) -> None:
    """The second gets a short answer, too."""
    async with a_chat(tmp_path, ASK) as chat:
        data = chat.buttons()["Полный"]
        check_sentence(await chat.press_data(data))
        check_sentence(await chat.press_data(data))
        assert (index(chat.world).status, len(events(chat.world, "RunWoken"))) == ("done", 1)


@pytest.mark.parametrize("text", [
    "/cancel", "/cancel " + "я" * 3000, "/cancel <b>x</b>", "/cancel ٣", "/runs лишнее", "/steps", "/steps " + "я" * 4000, "/steps a\nb",
])  # fmt: skip
async def test_a_command_with_anything_behind_it_is_answered(tmp_path: Path, text: str) -> None:
    """Each gets an answer in words; only what names the run touches it."""
    async with a_chat(tmp_path, ASK) as chat:
        before = len(chat.shown())
        await chat.say(text)
        assert len(chat.shown()) > before
        check_sentence(chat.shown()[-1]["text"].replace("/steps", ""))
        assert index(chat.world).status == ("cancelled" if text == "/cancel" else "waiting")


BAD_CALLS = [
    ("show", ""), ("show", "x" * 10_000), ("show", "%"), ("show", "'; DROP TABLE runs; --"), ("events", "nobody"),
    ("events", ID, "--last", "-1"), ("cancel", "nobody"), ("explode", ID), ("list", "--last", "-1"), ("list", "--last", "many"),
    ("list", "--status", "\x1b[31m"), ("start", "steps", "plan", "--for", "tg:"), ("start", "steps", "plan", "--for", "mail:x"),
    ("start", "steps", "plan"), ("start", "steps", "plan", "--for", "tg:1007", "--arg", "=1"),
    ("start", "steps", "plan", "--for", "tg:1007", "--arg", "a b=1"), ("pause", ID, "--wait", "-1"), ("pause", ID, "--wait", "nan"),
]  # fmt: skip


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[World]:
    """A bot that does not work now, with one run that waits."""
    async with a_bot(tmp_path) as world:
        yield world
        assert [row.status for row in world.sql.list_runs(RunFilter())] == ["waiting"]


@pytest.mark.parametrize("arguments", BAD_CALLS, ids=range(len(BAD_CALLS)))
async def test_wrong_options_are_told_and_change_nothing(bot: World, arguments: tuple[str, ...]) -> None:
    """The exit code is that of wrong use; what is shown holds no control character of the terminal."""
    code, told = await type_in(*arguments)
    assert not bot.sql.list_ready_sessions()
    assert (code, bool(told.strip()), "\x1b[31m" in told, "Traceback" in told) == (2, True, False, False), told


@pytest.mark.parametrize("value", ["{", "NaN", "1e999", "я" * 100_000, "\udcff", "[" * 5000])
async def test_any_text_is_a_value_of_a_run(bot: World, value: str) -> None:
    """What is no JSON is text; the order is stored for the next bot."""
    code, told = await type_in("start", "steps", "short", "--for", "tg:1007", "--arg", f"deal={value}", "--wait", "0")
    assert len(bot.sql.list_ready_sessions()) == 1
    assert (code, "Traceback" in told) == (1, False), told
