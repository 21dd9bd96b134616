"""scenario_executor.log tells each step once, however often the run is played; values only at DEBUG, masked and cut."""

import logging
from pathlib import Path

import pytest

from engines.scenarios import log_file as scenario_log
from engines.scenarios.core.executor_log import LOGGER
from engines.scenarios.log_file import NAME, keep_scenario_log
from tests.unit.engines.scenarios.scenario_kit import a_scenario_world, ask, say, scenario, start
from tests.unit.runs.runs_kit import work_through
from tests.unit.spine_kit import WEBHOOK, message

LOG = {"type": "log_message", "params": {"level": "WARNING", "message": "Пользователь {user_id} выбрал {choice}"}}
ODD = {"type": "log_message", "params": {"level": "LOUD", "message": "x"}}
SET = {"type": "update_context", "params": {"updates": {"a": 1, "b": "{choice}"}}}


async def play(folder: Path, level: str, typed: str) -> list[str]:
    """The lines of the log without their times, after a run that asks twice."""
    steps = (say("Привет"), SET, ask("choice"), LOG, ODD, SET, ask("more", step="more"), say("{more}"))
    with keep_scenario_log(folder / "log", level):
        async with a_scenario_world(folder, *steps) as world:
            await work_through(world, start(), message(typed), message("ещё"))
    lines = (folder / "log" / NAME).read_text(encoding="utf-8").splitlines()
    return [line.split(" ", 3)[1] + " " + line.split("] ", 1)[1].split(" ", 1)[1].split(" trace=")[0].split(" in ")[0] for line in lines]


@pytest.mark.req("S000-53", "S000-54", "S000-63", "S000-X17")
async def test_each_step_is_told_once_over_three_passes(tmp_path: Path) -> None:
    """Types, times and names of variables; the author's lines at their level, an unknown level named in its line."""
    told = await play(tmp_path, "INFO", "второй")
    assert told == [
        "INFO begins plan (Проба)", "INFO step step-1/1 message done", "INFO step step-2/1 update_context done",
        "INFO step ask/1 input waits", "INFO step ask/1 input done", "WARNING note Пользователь tg:1007 выбрал второй",
        "INFO step step-4/1 log_message done", "INFO note (LOUD) x", "INFO step step-5/1 log_message done",
        "INFO step step-6/1 update_context done", "INFO step more/1 input waits", "INFO step more/1 input done",
        "INFO step step-8/1 message done", "INFO ends done after 8 steps",
    ]  # fmt: skip


async def test_values_stand_in_it_only_at_debug_cut_and_without_secrets(tmp_path: Path) -> None:
    """The webhook's address never; a long value only in part."""
    told = await play(tmp_path, "DEBUG", f"{WEBHOOK} {'д' * 500}")
    values = [line for line in told if " values " in line]
    assert any("values choice = " in line for line in values)
    assert not [line for line in told if WEBHOOK in line]
    assert not [line for line in values if "д" * 201 in line]


async def test_without_a_folder_scenarios_go_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What cannot be written as a file stays in the program's own log."""
    (tmp_path / "log").write_text("no folder", encoding="utf-8")
    with caplog.at_level(logging.INFO), keep_scenario_log(tmp_path / "log", "INFO"):
        async with a_scenario_world(tmp_path, say("Привет")) as world:
            await world.work(start())
    assert "ends done after 1 steps" in caplog.text


def test_the_file_is_rotated_before_a_line_makes_it_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file is larger than the bound, also one that was there before, and of the newest lines none is missing."""
    monkeypatch.setattr(scenario_log, "MOST_BYTES", 2000)
    (tmp_path / NAME).write_text("давно\n" * 100, encoding="utf-8")
    with keep_scenario_log(tmp_path, "INFO"):
        for number in range(90):
            logging.getLogger(LOGGER).info("строка %s", number, extra={"action": "probe"})
    files = sorted(tmp_path.glob(f"{NAME}*"), key=lambda one: (len(one.name), one.name), reverse=True)
    assert len(files) > 2
    assert all(0 < one.stat().st_size <= 2000 for one in files)
    lines = "".join(one.read_text(encoding="utf-8") for one in files).splitlines()
    assert [line.split()[-1] for line in lines if "строка" in line] == [str(number) for number in range(90)]


@pytest.mark.req("S000-43")
async def test_a_sub_scenario_without_a_mapping_is_warned_of_once(tmp_path: Path) -> None:
    """Also while it runs, over two further passes; with a mapping nothing is said."""
    bare = {"id": "bare", "type": "execute_sub_scenario", "params": {"sub_scenario_id": "sub"}}
    mapped = {"id": "mapped", "type": "execute_sub_scenario", "params": {"sub_scenario_id": "sub", "output_mapping": []}}
    with keep_scenario_log(tmp_path / "log", "INFO"):
        async with a_scenario_world(tmp_path, bare, mapped, ask(), ask("more", step="more"), others={"sub": scenario(say("x"))}) as world:
            await work_through(world, start(), message("раз"), message("два"))
    lines = (tmp_path / "log" / NAME).read_text(encoding="utf-8").splitlines()
    (told,) = [line for line in lines if "WARNING" in line]
    assert "step bare/1 has no output_mapping: sub overwrites" in told


@pytest.mark.parametrize(("kind", "params"), [
    ("telegram_send_document", {"url": "https://files.example.com/{choice}.pdf"}),
    ("telegram_send_document", {"path": "offers/{choice}.pdf"}),
    ("schedule_scenario_run", {"scenario_id": "plan", "at": "{choice}"}),
])  # fmt: skip
async def test_a_failure_is_told_without_the_value_that_caused_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: str, params: dict[str, str]
) -> None:
    """What a person typed stands neither in this log nor in that of the program."""
    caplog.set_level(logging.INFO)
    async with a_scenario_world(tmp_path, ask("choice"), {"id": "last", "type": kind, "params": params}) as world:
        await work_through(world, start(), message("79990001122-петров"))
        told = [record.getMessage() for record in caplog.records]
        assert [line for line in told if "step last/1 failed" in line]
        assert [line for line in told if "79990001122" in line] == []
