"""`sdelka policy`: checks, explains and tries policies. It sends and writes nothing."""

from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from bot.cli.deferred import defer
from bot.cli.options import AS_JSON

_WORK: Final = "bot.cli.work.policy"
_Mode = Literal["shadow", "canary", "full"]

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Check, explain and rehearse the rules of the policy.")


@app.callback()
def group() -> None:
    """Check and explain the rules of the policy, and try them on recorded calls."""


@app.command()
@defer(_WORK)
def replay(
    *,
    policy: Annotated[Path | None, typer.Option(help="The policy to try (YAML); without it the one in force (POLICY_FILE).")] = None,
    mode: Annotated[_Mode, typer.Option(help="The mode to try.")] = "full",
    since: Annotated[str, typer.Option(help="Only plans from then on: 2026-11-08, 2026-11-08T09:00Z, 14d, 36h.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help=f"{AS_JSON} The last line is the summary.")] = False,
) -> None:
    """Apply a policy to recorded calls: show whether each would run, need a confirmation or be refused, beside what happened then.

    The calls are those that the model planned, as the journal recorded them. The command sends and writes nothing. Exit codes: 0 = done, 1
    = done, but some records could not be read, 2 = wrong use: a faulty policy file (every mistake is listed with its place), or a database
    that cannot be read.
    """


@app.command()
@defer(_WORK)
def check(
    *, policy: Annotated[Path | None, typer.Option(help="The file to look at; without it the one in force (POLICY_FILE).")] = None
) -> None:
    """Check whether a policy file can be used. Exit codes: 0 = it can, 2 = it cannot: every mistake is listed with its line."""


@app.command()
@defer(_WORK)
def explain(  # noqa: PLR0913 - one parameter for each option of the command
    call: Annotated[str, typer.Argument(help="A recorded call, by its id or the beginning of it (see `journal why`).")] = "",
    *,
    method: Annotated[str, typer.Option(help="Or a call that is thought of: its method, such as crm.deal.update.")] = "",
    field: Annotated[str, typer.Option(help="The field that it writes, such as STAGE_ID.")] = "",
    amount: Annotated[str, typer.Option(help="The sum that it writes, into --field or OPPORTUNITY.")] = "",
    before: Annotated[str, typer.Option(help="The sum that stands on the record.")] = "",
    currency: Annotated[
        str, typer.Option(help="The currency that it writes, such as USD; without it the record's, that of the policy.")
    ] = "",
    person: Annotated[str, typer.Option(help="Who asks for it, such as tg:1007; without it any manager.")] = "",
    mode: Annotated[_Mode | None, typer.Option(help="The mode; without it AGENT_MODE.")] = None,
    policy: Annotated[Path | None, typer.Option(help="The policy to judge by; without it the one in force (POLICY_FILE).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help=AS_JSON)] = False,
) -> None:
    """Show whether a call would run at once, need a confirmation or be refused, and why, with the line of the policy or catalogue.

    The command sends nothing. Exit codes: 0 = explained, 1 = the journal does not hold that call, 2 = wrong use or a faulty policy.
    """
