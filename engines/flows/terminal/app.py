from pathlib import Path
from typing import Annotated, Final

import typer

from bot.cli.author.group import Events, build_author_group
from bot.cli.deferred import defer
from bot.cli.options import Language

_WORK: Final = "engines.flows.terminal.trying"

_VALIDATE: Final = """Check flows and agents and say all mistakes at once, each with its place.

An agent that a step names is a file beside the flow, such as writer.yaml, or it is looked up among the published ones. Without a
database it is not, and that is said. Exit codes: 0 = no mistakes, 1 = mistakes, 2 = wrong use.
"""


_PUBLISH: Final = """Save a flow with its agents and publish it in one go. Nothing is saved if anything is wrong with any of the files.

What deletes, moves money or writes to people outside is published by a second person: it stays a draft, and the flow that names it
is not saved. Exit codes: 0 = published, 1 = refused, or a second person is needed, 2 = wrong use.
"""


_DIFF: Final = "Show what changed between two versions of a flow. Exit codes: 0 = shown, also if nothing changed, 2 = no such version."


_GRAPH: Final = """Draw where a flow goes, also one with mistakes. Exit codes: 0 = drawn, 2 = wrong use, or it cannot be read or drawn.

Failures are drawn dashed and red, what steps leave in channels of memory and read there is drawn thin and green.
"""


_TEST: Final = """\
Play the tests of flows, with the answers of their agents given, and show which steps and ways between them they cover.

Exit codes: 0 = all came as expected, 1 = something differs, 2 = wrong use, or there are no tests.
"""


_RECORD: Final = """\
Save a finished run as a test. What the person and the agents said stands in it: replace what must not be read by others.

Exit codes: 0 = written, 1 = the run cannot be played again, 2 = wrong use, there is no such run, or the file is there already.
"""


@defer(_WORK)
def run(
    flow: Annotated[str, typer.Argument(metavar="FILE|KEY", help="A file of a flow, or the key of a published one.")],
    *,
    param: Annotated[list[str] | None, typer.Option(help="A launch parameter such as client=Romashka; may be given again.")] = None,
    answers: Annotated[Path | None, typer.Option(metavar="FILE", help="A YAML file of agents' answers by step; no model is asked.")] = None,
    version: Annotated[int, typer.Option(min=0, help="A version of the published flow; by default the active one.")] = 0,
    language: Language = "ru",
    as_json: Events = False,
) -> None:
    """Try a flow in this terminal. The models of the settings are asked, which costs; nothing else is sent, and nothing is stored.

    Launch parameters that are not given are asked for one by one. Effects are shown as the plans that they are. Exit codes: 0 = it ended
    well, 1 = it failed, did not end, or has mistakes, 2 = wrong use.
    """


app = build_author_group(
    "flow",
    "Write flows: check, draw, publish, compare and try them.",
    {"validate": _VALIDATE, "publish": _PUBLISH, "diff": _DIFF, "graph": _GRAPH, "run": run, "test": _TEST, "record": _RECORD},
    part="agent",
)
