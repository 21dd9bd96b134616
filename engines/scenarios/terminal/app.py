from pathlib import Path
from typing import Annotated, Final

import typer

from bot.cli.author.group import Events, Json, Svg, build_author_group
from bot.cli.deferred import defer
from bot.cli.options import Language

_WORK: Final = "engines.scenarios.terminal.beginning"

_TEST: Final = """\
Play the recorded dialogues of scenarios, with everything outside mocked, and show which steps they cover.

Exit codes: 0 = all came as expected, 1 = something differs, 2 = wrong use, or there are no dialogues.
"""


_RECORD: Final = """\
Save a finished run as a test. What the person answered stands in it as it was typed: replace what must not be read by others.

Exit codes: 0 = written, 1 = the run cannot be played again, 2 = wrong use, there is no such run, or the file is there already.
"""


File = Annotated[
    Path, typer.Argument(metavar="FILE", help="A scenario as YAML or JSON. Those beside it are known by the names of their files.")
]


@defer(_WORK)
def steps(name: Annotated[str, typer.Argument(help="Only this type.")] = "", *, as_json: Json = False) -> None:
    """Show the types of steps: what each does, its parameters and an example. Exit codes: 0 = shown, 2 = there is no such type."""


@defer(_WORK)
def validate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Scenarios as YAML or JSON, or folders of them.")],
    *,
    language: Annotated[Language, typer.Option(help="The language in which mistakes are told.")] = "en",
    as_json: Json = False,
) -> None:
    """Check scenarios and say all mistakes at once, each with its place. Exit codes: 0 = no mistakes, 1 = mistakes, 2 = wrong use."""


@defer(_WORK)
def graph(file: File, *, svg: Svg = None) -> None:
    """Draw where a scenario goes, also one with mistakes. Exit codes: 0 = drawn, 2 = wrong use, or it cannot be read or drawn."""


@defer(_WORK)
def run(
    file: File,
    *,
    answers: Annotated[list[str] | None, typer.Option("--input", help="An answer, in order; may be given again.")] = None,
    inputs: Annotated[Path | None, typer.Option(help="A YAML file with the answers, or with inputs, mocks and args as in a test.")] = None,
    arg: Annotated[list[str] | None, typer.Option(help="A value such as deal=481 that the scenario is started with.")] = None,
    model: Annotated[bool, typer.Option("--model", help="Ask the configured model where the inputs have no mock; it costs.")] = False,
    language: Annotated[Language, typer.Option(help="The language of the program's own sentences.")] = "ru",
    as_json: Events = False,
) -> None:
    """Try a scenario in this terminal. Nothing is sent and nothing is stored: each effect is shown as the plan that it is.

    What the inputs do not answer is asked here, models' answers too; @PATH sends a file, @+7… a contact.
    Exit codes: 0 = it ended well, 1 = it failed, did not end, or has mistakes, 2 = wrong use.
    """


@defer(_WORK)
def new(
    out: Annotated[Path, typer.Argument(metavar="FILE", help="The new file, such as lead.yaml; an existing one is not overwritten.")],
    *,
    name: Annotated[str, typer.Option(help="What people call it.")] = "",
    description: Annotated[str | None, typer.Option(help="What it is for.")] = None,
    question: Annotated[list[str] | None, typer.Option(help="A question to ask; may be given again.")] = None,
    doing: Annotated[str, typer.Option("--do", help="What is done with the answers: say, deal or lead.")] = "",
    language: Annotated[Language, typer.Option(help="The language of the questions and of the scenario.")] = "ru",
) -> None:
    """Write a first scenario after a few questions. Exit codes: 0 = written, 2 = wrong use, or the file is there already."""


app = build_author_group(
    "scenario",
    "Write scenarios: check, draw, try, test and record them.",
    {
        "steps": steps,
        "validate": validate,
        "graph": graph,
        "run": run,
        "test": _TEST,
        "record": _RECORD,
        "new": new,
    },
)
