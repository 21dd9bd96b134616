"""Changes nothing and may run beside the bot."""

import asyncio
import os
import sys
from collections.abc import Sequence

import typer

from bot.cli.doctor.checks import build_checks, has_timed_out
from bot.cli.doctor.findings import Finding, run_checks
from bot.cli.doctor.settings_check import build_secret_filter, probe_settings
from bot.cli.ops import write_json_lines, write_table

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
