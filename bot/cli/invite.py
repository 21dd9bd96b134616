"""`sdelka invite` and `sdelka people` store inputs, which a bot processes within a second or when it starts."""

from typing import Annotated, Final, Literal

import typer

from bot.cli.deferred import defer
from bot.cli.options import AS_JSON

_WORK: Final = "bot.cli.work.invite"
_Role = Literal["manager", "lead", "admin"]

app = typer.Typer(add_completion=False, help="Make a link with which one person joins.")
people = typer.Typer(add_completion=False, invoke_without_command=True, help="Who may use the bot.")


@app.command()
@defer(_WORK)
def invite(
    *,
    bitrix_user: Annotated[int, typer.Option("--bitrix-user", min=1, help="The employee's number in Bitrix24.")],
    role: Annotated[_Role, typer.Option(help="What they may decide.")] = "manager",
    name: Annotated[str, typer.Option(help="What they are called; by default as in Bitrix24.")] = "",
    hours: Annotated[int, typer.Option(min=1, max=24 * 30, help="How long the link works.")] = 48,
    second_account: Annotated[
        bool,
        typer.Option("--second-account", help="The employee has access already: let in one more Telegram account as the same employee."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help=AS_JSON)] = False,
) -> None:
    """Make a single-use link for one employee. It is shown once and stored nowhere: send it to them, and to nobody else.

    Works while the bot runs and while it does not. Exit codes: 0 = the link is on the screen, 2 = nothing was changed: there is no bot
    token or no database, or the employee is unknown, was dismissed or has access already (see --second-account).
    """


@people.callback()
@defer(_WORK)
def list_access(context: typer.Context, *, as_json: Annotated[bool, typer.Option("--json", help=AS_JSON)] = False) -> None:
    """List who may use the bot, who lost access in Bitrix24, and open invitation links. `sdelka people remove KEY` takes access away.

    Exit codes: 0 = shown, 2 = the database or the access file cannot be read.
    """


@people.command()
@defer(_WORK)
def remove(
    key: Annotated[str, typer.Argument(help='Key as `sdelka people` shows it: "tg:1007", or "invite:1a2b3c4d" for an open link.')],
) -> None:
    """Take access away from somebody who joined by a link, or withdraw an open link.

    A running bot does it within a second and closes the person's open cards. Exit codes: 0 = stored, 1 = nobody has this key, 2 = the
    access file lists the person (remove them there), or the database cannot be used.
    """
