from typing import Any, Final

import typer
from typer.core import TyperGroup

from bot.cli.author.group import BUILDERS, KindWords, hide_log_lines
from bot.plugins.loading import list_kinds, load_plugins
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.suggestions import suggest_name

_SUMMARY: Final = f"""Write definitions of any kind: begin, check, draw, try, test and record them. Nothing of it needs a running bot.

The kinds: {", ".join(list_kinds())}. What is published of them is listed, compared and switched by `sdelka definitions`.
"""
_VERBS: Final = {
    "new": """Write a first definition to a new file, whose name is its key, and say what is still wrong with it.

Exit codes: 0 = written, 2 = wrong use, or the file is there already.""",
    "check": """Say all mistakes of definitions, and of the parts that they name, at once, each with its place.

Parts are files beside, or they are looked up among the published ones. Exit codes: 0 = no mistakes, 1 = mistakes, 2 = wrong use.""",
    "draw": "Draw a definition, also one with mistakes. Exit codes: 0 = drawn, 2 = wrong use, or it cannot be read or drawn.",
    "try": """Try a definition in this terminal. Nothing is sent and nothing is stored; what is not given is asked for here.

Kinds that show the words of models as they come really ask them, which costs, unless --answers gives them. A kind says which of the
options it takes. Exit codes: 0 = it ended well, 1 = it failed, did not end, or has mistakes, 2 = wrong use.""",
    "test": """Play the tests of definitions, with everything outside given, and show what they cover.

Exit codes: 0 = all came as expected, 1 = something differs, 2 = wrong use, or there are no tests.""",
    "record": """Save a finished run as a test. What was said in it stands there: replace what must not be read by others.

Exit codes: 0 = written, 1 = the run cannot be played again, 2 = wrong use, there is no such run, or the file is there already.""",
}
_NEEDS: Final = {"try": "trial", "test": "cases", "record": "cases"}
"""The slot of the engine without which a command does nothing; its help does not list such kinds."""


class _Kinds(TyperGroup):
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # its types are private to Typer
        """Raises SettingsError for an unknown kind."""
        kinds = list_kinds()
        if args[0] not in kinds and not args[0].startswith("-"):
            meant = suggest_name(args[0], kinds)
            near = f", perhaps {meant}" if meant else ""
            raise SettingsError(f"there is no kind of definitions {args[0]!r}{near}: it is one of {', '.join(kinds)}")
        return super().resolve_command(ctx, args)


def _build_verb(verb: str, summary: str) -> typer.Typer:
    offered = {part for plugin in load_plugins() for part in plugin.parts}
    group = typer.Typer(cls=_Kinds, no_args_is_help=True, help=summary)
    for kind in list_kinds():
        is_hidden = verb in _NEEDS and f"{_NEEDS[verb]}/{kind}" not in offered
        words = KindWords(kind=kind, test_command=f"sdelka author test {kind}")
        group.command(kind, help=summary, hidden=is_hidden)(BUILDERS[verb](words))
    return group


app = typer.Typer(no_args_is_help=True, add_completion=False, help=_SUMMARY)
app.callback(help=_SUMMARY)(hide_log_lines)
for _verb, _summary in _VERBS.items():
    app.add_typer(_build_verb(_verb, _summary), name=_verb)
