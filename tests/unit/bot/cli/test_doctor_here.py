"""The parts of `sdelka doctor` that ask nobody: settings, files, disk, machine, and how checks are run."""

import asyncio
import errno
import os
import re
import shutil
import struct
import subprocess
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.cli.doctor.files import check_files
from bot.cli.doctor.findings import Area, Check, Finding, run_checks
from bot.cli.doctor.machine import check_disks, check_folder, check_machine
from bot.cli.doctor.model import build_silence
from bot.cli.doctor.settings_check import build_secret_filter
from bot.settings.settings import Settings
from sandbox.telegram.speech import _checksum
from tests.forker import forked

ROOT = Path(__file__).resolve().parents[4]
AREA = Area("disk")


def verdicts(found: list[Finding]) -> dict[str, str]:
    """Check → verdict."""
    return {line.check: line.verdict for line in found}


@pytest.mark.slow
@pytest.mark.req("S004-67")
def test_every_wrong_setting_at_once(tmp_path: Path) -> None:
    """Wrong, missing and misspelt settings and a readable `.env` are all told in one run, without any value; exit code 2."""
    written = {
        "AGENT_MODE": "fast-value",
        "HTTP_PORT": "99999",
        "CONFIRMATION_TTL": "soon-value",
        "BITRIX_PLAN": "quick-value",
        "BITRIX_WEBHOK_URL": "https://portal.example/rest/1/a0secret0code/",
        "DATABASE_URL": "oracle-of-secrets",
        "OPENAI_API_KEY": "sk-secret-key-of-ours",
        "OPENAI_API_BASE": "ftp://user:secret-password@model.example/v1",
        "TELEGRAM_API_BASE": "http://telegram.invalid",
        "LOG_DIR": str(tmp_path / "logs"),
    }
    env = tmp_path / ".env"
    env.write_text("".join(f"{name}={value}\n" for name, value in written.items()), encoding="utf-8")
    env.chmod(0o644)
    command = forked("-m", "bot", "doctor", "--within", "0.5")
    ran = subprocess.run(
        command,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 2, ran.stderr
    for name in ("AGENT_MODE", "HTTP_PORT", "CONFIRMATION_TTL", "BITRIX_PLAN", "TELEGRAM_BOT_TOKEN", "BITRIX_WEBHOOK_URL", "DATABASE_URL"):
        assert re.search(rf"│ {name} +│ WRONG", ran.stdout), (name, ran.stdout)
    assert re.search(r"│ BITRIX_WEBHOK_URL +│ warning .*BITRIX_WEBHOOK_URL", ran.stdout), ran.stdout
    assert "chmod 600 .env" in ran.stdout
    assert "OPENAI_API_BASE must be" in ran.stdout
    for value in (
        "fast-value",
        "soon-value",
        "quick-value",
        "a0secret0code",
        "oracle-of-secrets",
        "sk-secret-key-of-ours",
        "secret-password",
    ):
        assert value not in ran.stdout + ran.stderr


async def test_a_check_that_hangs_or_fails_keeps_what_it_found() -> None:
    """What was found before stays, the fault gets a line of its own, and the others are as they would be alone."""

    async def hangs() -> AsyncIterator[Finding]:
        yield AREA.report_ok("first", "It began well.")
        await asyncio.Event().wait()

    async def breaks() -> AsyncIterator[Finding]:
        yield AREA.report_ok("second", "It began well.")
        raise KeyError("secret-in-an-error")

    looks = [Check(area=AREA, probe=hangs, within=0.05), Check(area=AREA, probe=breaks, within=5)]
    found = await run_checks(looks, lambda text: text)
    assert verdicts(found) == {"first": "ok", "in time": "wrong", "second": "ok", "looked at": "wrong"}
    assert "secret-in-an-error" not in str(found)


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "doctor-test", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no right to mount on this machine")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def test_a_disk_without_room_is_wrong_before_it_is_full(full_disk: Path) -> None:
    """Below 100 MB the way out is named; the folder itself may still be made."""
    found = list(check_folder("STATE_DIR", full_disk / "state"))
    assert verdicts(found) == {"STATE_DIR": "ok", "STATE_DIR space": "wrong"}
    assert "runbook" in found[1].mending


def test_a_folder_for_everybody_and_one_that_is_a_file(tmp_path: Path) -> None:
    """Rights too wide are a warning with the command that narrows them; a file in the folder's place is wrong."""
    (tmp_path / "logs").mkdir(mode=0o755)
    assert verdicts(list(check_folder("LOG_DIR", tmp_path / "logs")))["LOG_DIR"] == "warning"
    (tmp_path / "logs").chmod(0o700)
    assert verdicts(list(check_folder("LOG_DIR", tmp_path / "logs")))["LOG_DIR"] == "ok"
    (tmp_path / "file").touch()
    assert verdicts(list(check_folder("STATE_DIR", tmp_path / "file" / "state")))["STATE_DIR"] == "wrong"


@pytest.mark.parametrize("setting", ["STATE_DIR", "LOG_DIR"])
def test_a_folder_for_everybody_is_told_with_what_can_be_read_in_it(tmp_path: Path, setting: str) -> None:
    """Audit logs are not encrypted, and the doctor does not say so; of the state it says where the keys lie."""
    (tmp_path / "data").mkdir(mode=0o755)
    found = next(line for line in check_folder(setting, tmp_path / "data") if line.check == setting)
    assert ("sealed" in found.mending, "clear text" in found.mending, "keys" in found.mending) == (False, True, setting == "STATE_DIR")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc on this system")
def test_a_folder_where_nothing_can_be_kept_is_not_called_full() -> None:
    """A view into the system has no blocks at all: the reason is told, and no megabytes."""
    (line,) = check_folder("STATE_DIR", Path("/proc/sdelka"))
    assert (line.verdict, "MB" in line.says, "Choose another STATE_DIR" in line.mending) == ("wrong", False, True)


@pytest.mark.parametrize(
    ("code", "word"), [(errno.EACCES, "may not write"), (errno.EROFS, "read-only"), (errno.ENOSPC, "full"), (errno.EDQUOT, "quota")]
)
def test_a_folder_that_cannot_be_written_to_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, word: str) -> None:
    """Rights may look right while the disk refuses: the trial's own error is the reason, and no megabytes are told."""

    def refuse(*_: object) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("bot.cli.doctor.machine.os.open", refuse)
    (line,) = check_folder("STATE_DIR", tmp_path)
    assert (line.verdict, word in line.says, "MB" in line.says, bool(line.mending)) == ("wrong", True, False, True)


def test_the_trial_leaves_no_file(tmp_path: Path) -> None:
    list(check_folder("STATE_DIR", tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_unnamed_files_is_judged_by_its_rights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some file systems have none: that says nothing about whether they can be written to."""
    tmp_path.chmod(0o700)
    monkeypatch.setattr("bot.cli.doctor.machine._UNNAMED_FILE", 0)
    assert verdicts(list(check_folder("STATE_DIR", tmp_path)))["STATE_DIR"] == "ok"


def test_logs_of_another_user_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a command was run as root the bot may not write into the log that it made: nothing more would be logged."""
    (tmp_path / "tg%3a7.jsonl").touch()
    plain = os.access
    monkeypatch.setattr("bot.cli.doctor.machine.os.access", lambda path, mode: Path(path).suffix != ".jsonl" and plain(path, mode))
    settings = Settings(state_dir=tmp_path, log_dir=tmp_path, _env_file=None)
    (line,) = [line for line in check_disks(settings) if line.check == "LOG_DIR files"]
    assert (line.verdict, "tg%3a7.jsonl" in line.says, "chown" in line.mending) == ("wrong", True, True)


def test_each_mistake_of_the_owners_files_has_its_line(tmp_path: Path) -> None:
    """Faulty policies and access lists, a list without an admin, days off of a year that nobody has listed."""
    policy, people = tmp_path / "policy.yaml", tmp_path / "access.yaml"
    policy.write_text("open_methods: [crm.deal.delet]\nrefuse_methods: [nothing.such]\n", encoding="utf-8")
    people.write_text("people:\n  - {telegram_id: 7, name: Борис}\n", encoding="utf-8")
    found = list(check_files(Settings(_env_file=None, policy_file=policy, access_file=people), date(2031, 5, 5)))
    assert [(line.check, line.verdict) for line in found] == [
        ("POLICY_FILE", "wrong"),
        ("POLICY_FILE", "wrong"),
        ("ACCESS_FILE", "warning"),
        ("ACCESS_FILE", "warning"),
        ("holidays", "warning"),
    ]
    assert "data/holidays.yaml does not list yet which days off are moved in 2031" in found[-1].says
    people.write_text("people: [{telegram_id: 7, nam: Борис}]", encoding="utf-8")
    (line,) = [line for line in check_files(Settings(_env_file=None, access_file=people), date(2026, 5, 5)) if line.check == "ACCESS_FILE"]
    assert (line.verdict, "people.0.nam" in line.says) == ("wrong", True)


def test_how_the_company_counts_is_said_in_words(tmp_path: Path) -> None:
    """The chosen readings and the plan of this month, or what is wrong with the file."""
    numbers = tmp_path / "numbers.yaml"
    settings = Settings(_env_file=None, numbers_file=numbers)
    numbers.write_text("{choices: {closing: closedate, idle: move}, plan: {2026-11: 8000000}}", encoding="utf-8")
    november, december = (
        next(line for line in check_files(settings, date(2026, month, 5)) if line.check == "NUMBERS_FILE") for month in (11, 12)
    )
    assert november.says == f"{numbers}: a deal closes on the close date of its card; the plan of this month is 8,000,000."
    assert december.says.endswith("card; there is no plan of this month.")
    numbers.write_text("{choices: {closing: never}}", encoding="utf-8")
    (line,) = [line for line in check_files(settings, date(2026, 11, 5)) if line.check == "NUMBERS_FILE"]
    assert (line.verdict, "closing: write one of move, closedate, not 'never'" in line.says) == ("wrong", True)
    assert "NUMBERS_FILE" not in {line.check for line in check_files(Settings(_env_file=None), date(2026, 11, 5))}


@pytest.mark.parametrize(
    ("today", "verdict"), [(date(2027, 10, 31), "ok"), (date(2027, 11, 1), "warning"), (date(2027, 12, 31), "warning")]
)
def test_in_november_the_next_years_moved_days_are_asked_for(today: date, verdict: str) -> None:
    """The decree is out by then: a sentence with the name of the file and the year."""
    (line,) = [line for line in check_files(Settings(_env_file=None), today) if line.check == "holidays"]
    assert (line.verdict, "2028" in line.says) == (verdict, verdict == "warning")


def test_an_old_list_of_zones_is_told() -> None:
    """Years later the zones of this release may have changed."""
    assert verdicts(list(check_machine(datetime(2039, 1, 1, tzinfo=UTC))))["time zones"] == "warning"
    assert verdicts(list(check_machine(datetime(2026, 11, 1, tzinfo=UTC))))["time zones"] == "ok"


def test_every_part_of_a_secret_is_hidden() -> None:
    """A webhook's code, the half of a token, one token of several and a database's password, wherever they turn up."""
    settings = Settings(
        _env_file=None,
        telegram_bot_token=SecretStr("123456:AAhalfOfTheToken"),
        bitrix_webhook_url=SecretStr("https://portal.example/rest/1/a0webhook0code/"),
        bitrix_event_token=SecretStr("first-event-token, second-event-token"),
        database_url=SecretStr("postgresql://sdelka:pass-word-of-db@db/sdelka"),
    )
    said = build_secret_filter(settings)("AAhalfOfTheToken a0webhook0code second-event-token pass-word-of-db and sdelka doctor")
    assert said == "*** *** *** *** and sdelka doctor"


def test_the_silence_is_a_sound_file() -> None:
    """Three Ogg pages whose checksums hold, half a second long."""
    data, pages = build_silence(), []
    while data:
        count = data[26]
        size = 27 + count + sum(data[27 : 27 + count])
        page, data = bytearray(data[:size]), data[size:]
        (said,) = struct.unpack_from("<I", page, 22)
        page[22:26] = bytes(4)
        assert (bytes(page[:4]), said) == (b"OggS", _checksum(page))
        pages.append(page)
    assert (len(pages), struct.unpack_from("<q", pages[-1], 6)[0]) == (3, 24_000)


@pytest.mark.parametrize(
    ("files", "verdict"), [("files", "ok"), ("state", "wrong"), ("state/deep", "wrong"), (".", "wrong"), ("gone", "wrong")]
)
def test_the_folder_of_files_exists_and_holds_nothing_of_the_program(tmp_path: Path, files: str, verdict: str) -> None:
    for name in ("files", "state/deep", "logs"):
        (tmp_path / name).mkdir(parents=True, mode=0o700)
    settings = Settings(files_dir=tmp_path / files, state_dir=tmp_path / "state", log_dir=tmp_path / "logs", _env_file=None)
    assert next(found.verdict for found in check_disks(settings) if found.check == "FILES_DIR") == verdict
