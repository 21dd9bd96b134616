"""Runs the checks of `sdelka doctor` and shows their findings. It changes nothing and may run beside the bot."""

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.ops import AS_JSON, write_json_lines, write_table

if TYPE_CHECKING:  # its `--help` needs none of them, see bot.cli.ops
    from collections.abc import Sequence

    from bot.cli.doctor.findings import Finding

WARNED, WRONG = 1, 2
_MARKS = {"ok": "ok", "warning": "warning", "wrong": "WRONG"}

app = typer.Typer(add_completion=False, help="Explain every missing or wrong setting, and check each party.")


@app.command()
def doctor(
    *,
    spend: Annotated[
        bool,
        typer.Option(
            "--spend",
            help="Also try a word, a call of a tool, vectors and a transcription of silence: costs a fraction of a cent.",
        ),
    ] = False,
    within: Annotated[float, typer.Option("--within", min=0.1, max=120.0, help="Seconds that one answer of a party may take.")] = 8.0,
    as_json: Annotated[bool, typer.Option("--json", help=AS_JSON)] = False,
) -> None:
    """Check settings, files, portal, model, Telegram, database, disk, port and machine, and say how to fix what is wrong.

    Works before the first start and beside a running bot, and changes nothing anywhere. Shows no secret. Exit codes: 0 = all is well, 1 =
    there are warnings and nothing is wrong, 2 = something is wrong.
    """
    from bot.cli.doctor.checks import build_checks, has_timed_out  # noqa: PLC0415 - help needs none of it, see bot.cli.ops
    from bot.cli.doctor.findings import run_checks  # noqa: PLC0415 - see above
    from bot.cli.doctor.settings_check import build_secret_filter, probe_settings  # noqa: PLC0415 - see above

    look = probe_settings()
    found = asyncio.run(run_checks(build_checks(look, spend=spend, within=within), build_secret_filter(look.settings)))
    _show(found, as_json=as_json)
    code = WRONG if any(line.verdict == "wrong" for line in found) else WARNED if any(line.verdict == "warning" for line in found) else 0
    sys.stdout.flush()
    sys.stderr.flush()
    if has_timed_out(found):
        os._exit(code)  # a thread that hangs in a name lookup or on a dead network drive would delay the exit for minutes
    raise typer.Exit(code)


def _show(findings: "Sequence[Finding]", *, as_json: bool) -> None:
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
