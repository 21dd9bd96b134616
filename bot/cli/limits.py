"""`sdelka freeze` and `sdelka budget`: what stops the bot. The switch works while no bot runs."""

from typing import Annotated

import typer

from bot.cli.deferred import defer
from bot.cli.options import AS_JSON

freezing = typer.Typer(add_completion=False, help="Stop all writing to the portal at once, or let it start again.")
budgets = typer.Typer(add_completion=False, help="How much of the model everybody has used this month.")


@freezing.command()
@defer("bot.cli.work.freeze")
def freeze(
    *,
    reason: Annotated[str, typer.Option("--reason", help="Why: everybody who asks for a change reads it.")] = "",
    off: Annotated[bool, typer.Option("--off", help="Let writing start again; what waits still waits for its press.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Only tell how it stands.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help=AS_JSON)] = False,
) -> None:
    """Stop all writing to the portal in every process, or allow it again (--off), or show whether it is stopped (--status).

    Once a stopping command has returned, no new write starts; a call that was already sent is completed. Reading continues, and open
    confirmation cards stay open. The bot notifies the administrators. Exit codes: 0 = done (with --status: writing is allowed), 1 = with
    --status: writing is stopped, 2 = wrong use, or the database cannot be used: nothing was changed.
    """


@budgets.command()
@defer("bot.cli.work.budget")
def budget(
    *,
    month: Annotated[str, typer.Option("--month", help="Another month, such as 2026-10; by default the present one.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help=AS_JSON)] = False,
) -> None:
    """Show how much of the model each person used in a month, and their limits. Months begin in each person's own time zone.

    Exit codes: 0 = everybody is within their budget, 1 = somebody has used theirs up, 2 = wrong use, a faulty policy, or the database
    cannot be read.
    """
