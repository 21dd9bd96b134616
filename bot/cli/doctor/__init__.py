"""`sdelka doctor`: what is missing or wrong, and how to fix it. It changes nothing."""

from typing import Annotated, Final

import typer

from bot.cli.deferred import defer
from bot.cli.options import AS_JSON

_WORK: Final = "bot.cli.doctor.work"

app = typer.Typer(add_completion=False, help="Explain every missing or wrong setting, and check each party.")


@app.command()
@defer(_WORK)
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
