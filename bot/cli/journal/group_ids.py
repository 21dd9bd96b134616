"""Commands that take a session: the number of a group begins with a minus, and the message says how to write it. Ring 3."""

import re

import typer
from typer.core import TyperCommand

_GROUP_ID = re.compile(r"-[0-9]{5,}", re.ASCII)


class GroupIdCommand(TyperCommand):
    """A command that takes such a number behind `--`, and says so where one stands without."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override] # typer keeps its own kind of context to itself
        """As ever; BadParameter (exit code 2) for a number that would be taken for an option."""
        before = args[: args.index("--")] if "--" in args else args
        number = next((word for word in before if _GROUP_ID.fullmatch(word)), "")
        if number:
            raise typer.BadParameter(f"{number} looks like an option: write it last, behind two dashes: -- {number}")
        return super().parse_args(ctx, args)
