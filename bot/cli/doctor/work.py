"""All checks in the order of the report. They change nothing and may run beside the bot."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Final

import typer

from bot.cli.doctor import database, doors, engines, files, machine, model, portal, settings_check
from bot.cli.doctor.findings import Check, Finding, run_checks, stream_from_thread
from bot.cli.doctor.settings_check import SettingsProbe, build_secret_filter, probe_settings
from bot.cli.ops import write_json_lines, write_table
from bot.settings.settings import Settings
from state.clock import SystemClock
from state.verify.health import read_value

LOCAL_TIMEOUT: Final = 10.0
CALLS_PER_PARTY: Final = 6
"""Calls of one check to the portal, model or Telegram, each of which may take the full timeout."""
DATABASE_TIMEOUT: Final = 30.0
SPEND_TIMEOUT: Final = 360.0


def build_checks(look: SettingsProbe, *, spend: bool, within: float) -> Sequence[Check]:
    """In the order of the report. `spend` allows model calls that cost money; `within` is seconds for one answer."""
    settings, now = look.settings, SystemClock().now()
    people, currency = files.load_known_people(settings), files.load_policy_currency(settings)
    load, patience = _build_value_reader(settings), CALLS_PER_PARTY * within

    def portal_look() -> AsyncIterator[Finding]:
        return portal.check_portal(settings, load, people, currency=currency, within=within)

    def model_look() -> AsyncIterator[Finding]:
        return model.check_model(settings, spend=spend, within=within)

    return (
        Check(
            area=settings_check.AREA, within=LOCAL_TIMEOUT, probe=lambda: stream_from_thread(lambda: settings_check.check_settings(look))
        ),
        Check(area=files.AREA, within=LOCAL_TIMEOUT, probe=lambda: stream_from_thread(lambda: files.check_files(settings, now.date()))),
        Check(area=engines.AREA, within=LOCAL_TIMEOUT, probe=lambda: stream_from_thread(engines.check_engines)),
        Check(area=portal.AREA, within=patience, probe=portal_look),
        Check(area=model.AREA, within=SPEND_TIMEOUT if spend else patience, probe=model_look),
        Check(area=doors.TELEGRAM, within=patience, probe=lambda: doors.check_telegram(settings, within=within)),
        Check(area=database.AREA, within=DATABASE_TIMEOUT, probe=lambda: stream_from_thread(lambda: database.check_database(settings))),
        Check(area=database.MONGO, within=LOCAL_TIMEOUT, probe=lambda: database.check_mongo(settings, within=within)),
        Check(area=engines.DOCUMENTS, within=DATABASE_TIMEOUT, probe=lambda: stream_from_thread(lambda: engines.check_folder(settings))),
        Check(area=engines.DOCUMENTS, within=patience, probe=lambda: engines.check_services(settings)),
        Check(area=machine.DISK, within=LOCAL_TIMEOUT, probe=lambda: stream_from_thread(lambda: machine.check_disks(settings))),
        Check(area=doors.AREA, within=LOCAL_TIMEOUT, probe=lambda: doors.check_http(settings)),
        Check(area=machine.AREA, within=LOCAL_TIMEOUT, probe=lambda: stream_from_thread(lambda: machine.check_machine(now))),
    )


def has_timed_out(findings: Iterable[Finding]) -> bool:
    """The thread of such a check may still hang."""
    return any(line.check == "in time" for line in findings)


def _build_value_reader(settings: Settings) -> portal.ReadValue:
    """None if there is none."""
    return lambda name: read_value(settings.database.get_secret_value(), name)


WARNED, WRONG = 1, 2


_MARKS = {"ok": "ok", "warning": "warning", "wrong": "WRONG"}


def doctor(*, spend: bool, within: float, as_json: bool) -> None:
    look = probe_settings()
    findings = asyncio.run(run_checks(build_checks(look, spend=spend, within=within), build_secret_filter(look.settings)))
    _show(findings, as_json=as_json)
    code = (
        WRONG if any(line.verdict == "wrong" for line in findings) else WARNED if any(line.verdict == "warning" for line in findings) else 0
    )
    sys.stdout.flush()
    sys.stderr.flush()
    if has_timed_out(findings):
        os._exit(code)  # a thread that hangs in a name lookup or on a dead network drive would delay the exit for minutes
    raise typer.Exit(code)


def _show(findings: Sequence[Finding], *, as_json: bool) -> None:
    if as_json:
        names = ("area", "check", "verdict", "says", "mending", "seconds")
        write_json_lines([{name: getattr(line, name) for name in names} for line in findings])
        return
    rows = [
        [line.area, line.check, _MARKS[line.verdict], f"{line.says}\n→ {line.mending}" if line.mending else line.says] for line in findings
    ]
    write_table(("area", "check", "is", "what was found, and what to do"), rows)
    wrong, warned = (sum(line.verdict == verdict for line in findings) for verdict in ("wrong", "warning"))
    sys.stdout.write(f"\n{wrong} wrong, {warned} warnings, {len(findings) - wrong - warned} ok.\n")
