"""`sdelka journal why`: who changed a record, who approved it, and what."""

from typing import Annotated, Final

import typer

from bot.cli.deferred import defer

_WORK: Final = "bot.cli.journal.why_work"
_WHAT_HELP = (
    "The id of a call or a card (or its first or last characters), a trace id, or a record: deal 481, contact 12, task 5, item 177 3."
)


@defer(_WORK)
def why(
    what: Annotated[list[str], typer.Argument(metavar="WHAT…", help=_WHAT_HELP)],
    field: str = typer.Option("", help="Of a record: only changes of this field, such as OPPORTUNITY."),
    since: str = typer.Option("", help="Only what happened from then on: 2026-11-21, '2026-11-21 14:05', '7 days ago'."),
    *,
    as_json: bool = typer.Option(False, "--json", help="One JSON object a call instead of pages."),
) -> None:
    """Show for each call who asked for it, what the model proposed, whether it was allowed, who approved it and what Bitrix24 answered.

    The newest call is shown first.
    """


def add(app: typer.Typer) -> None:
    app.command(
        epilog="Exit codes: 0 = shown, 1 = nothing found, or a record cannot be read, 2 = wrong use,"
        " or several calls fit, or the database cannot be read."
    )(why)
