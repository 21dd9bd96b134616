from pathlib import Path
from typing import Annotated, Final

import typer

from bot.cli.author.group import Events, Json, build_author_group
from bot.cli.deferred import defer
from bot.cli.options import Language

_WORK: Final = "engines.workflows.terminal.commands"

_VALIDATE: Final = """Check workflows and tuums and say all mistakes at once, each with its place.

A tuum that a workflow names is a file beside it or in the folder tuums, such as tuums/deals.yaml, or it is looked up among the
published ones. Without a database it is not, and that is said. Exit codes: 0 = no mistakes, 1 = mistakes, 2 = wrong use.
"""


_PUBLISH: Final = """Save a workflow with its tuums and publish it in one go. Nothing is saved if anything is wrong with any of the files.

What deletes, moves money or writes to people outside, or may do so, is published by a second person: it stays a draft, and the
workflow that names it is not saved. Exit codes: 0 = published, 1 = refused, or a second person is needed, 2 = wrong use.
"""


_DIFF: Final = "Show what changed between two versions of a workflow. Exit codes: 0 = shown, also if nothing changed, 2 = no such version."


_GRAPH: Final = """Draw which tuums wait for which, also of a workflow with mistakes.

Arrows carry the variables; what the start gives is drawn thin and green. Of tuums that are no files beside it only the name is drawn.
Exit codes: 0 = drawn, 2 = wrong use, or it cannot be read or drawn.
"""


_TEST: Final = """\
Play the tests of workflows, with answers of models and reads of the portal given, and show which tuums they cover.

Exit codes: 0 = all came as expected, 1 = something differs, 2 = wrong use, or there are no tests.
"""


_RECORD: Final = """\
Save a finished run as a test. What the person, the models and the portal said stands in it: replace what others must not read.

Exit codes: 0 = written, 1 = the run cannot be played again, 2 = wrong use, there is no such run, or the file is there already.
"""


File = Annotated[Path, typer.Argument(metavar="FILE", help="A workflow as YAML or JSON.")]


@defer(_WORK)
def compile_file(file: File, *, language: Language = "ru", as_json: Json = False) -> None:
    """Show in which order the tuums of a workflow run, what each waits for, and what it takes and publishes.

    The tuums of one level run side by side. Exit codes: 0 = shown, 1 = mistakes, or a tuum is not at hand, 2 = wrong use.
    """


@defer(_WORK)
def run(
    file: File,
    *,
    param: Annotated[
        list[str] | None, typer.Option("--param", "--parameter", help="A trigger parameter such as client=Romashka; may be given again.")
    ] = None,
    answers: Annotated[Path | None, typer.Option(metavar="FILE", help="A YAML file of models' answers by tuum; no model is asked.")] = None,
    queries: Annotated[Path | None, typer.Option(metavar="FILE", help="A YAML file of what the portal gives, by method.")] = None,
    language: Language = "ru",
    as_json: Events = False,
) -> None:
    """Try a workflow in this terminal. The models of the settings are asked, which costs; nothing else is sent, and nothing is stored.

    Trigger parameters that are not given are asked for one by one. The portal is not read: what it gives stands in a file, and another
    read is refused. What is proposed is shown as the plan that it is. Exit codes: 0 = it ended well, 1 = it failed, did not end, or has
    mistakes, 2 = wrong use.
    """


@defer(_WORK)
def blocks(
    record: Annotated[str, typer.Argument(metavar="KIND:NUMBER", help="A deal, lead, contact or company, such as deal:481.")],
    *,
    language: Language = "ru",
    as_json: Json = False,
) -> None:
    """List what workflows did on a record, oldest first: the last 100 blocks of a year.

    Exit codes: 0 = listed, 2 = wrong use, no workflow has worked on it, or the database cannot be read.
    """


@defer(_WORK)
def block(
    block_id: Annotated[
        str, typer.Argument(metavar="BLOCK", help="Its id, or a part at the beginning or end of its run's id that only one block has.")
    ],
    *,
    language: Language = "ru",
    as_json: Json = False,
) -> None:
    """Show one block: its text, the fields before and after, who chose what where people had changed the same, what became of the changes.

    Exit codes: 0 = shown, 2 = no such block, several fit, or the database cannot be read.
    """


app = build_author_group(
    "workflow",
    "Write workflows: check, order, draw, publish, compare, try and test them.",
    {
        "validate": _VALIDATE,
        "compile": compile_file,
        "publish": _PUBLISH,
        "diff": _DIFF,
        "graph": _GRAPH,
        "run": run,
        "test": _TEST,
        "record": _RECORD,
        "blocks": blocks,
        "block": block,
    },
    part="tuum",
)
