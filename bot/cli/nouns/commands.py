"""Groups such as `sdelka runs`, of the API's description and the table beside it."""

import inspect
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from bot.cli.deferred import defer
from bot.cli.nouns.description import Operation, Parameter, load_operations
from bot.cli.nouns.table import FINDS, GROUPS, Command
from bot.cli.options import AS_JSON, Language

if TYPE_CHECKING:
    from orchestrator.runs.registry import Engines


_WAIT: Final = Annotated[float, typer.Option(min=0, max=600, help="How many seconds to wait until a bot has carried it out.")]
_ORDERED: Final = (
    "Exit codes: 0 = done, 1 = the bot refused it, or no bot has taken it yet (then it is carried out as soon as one works), 2 = wrong use."
)
_READ: Final = "Exit codes: 0 = shown, 1 = refused, 2 = wrong use, there is no such thing, or the database cannot be read."
_DONE: Final = (
    "Exit codes: 0 = done, 1 = refused, nothing was changed, 2 = wrong use, there is no such thing, or the database cannot be used."
)
_PART: Final = "The id, or a part at its beginning or end that only one has."
_ALWAYS: Final = {
    "as_json": Annotated[bool, typer.Option("--json", help=AS_JSON)],
    "language": Annotated[Language, typer.Option(help="The language of heads and sentences.")],
}
_PAGING: Final = frozenset({"cursor", "limit"})
LoadEngines = Callable[[], "Engines"]


def build_group(name: str, load_engines: LoadEngines | None = None) -> typer.Typer:
    group = GROUPS[name]
    app = typer.Typer(no_args_is_help=True, add_completion=False, help=group.summary)
    app.callback()(lambda: None)
    address = f"{group.address or name}."
    own = {operation.removeprefix(address) for operation in load_operations() if operation.startswith(address)} - group.left_out
    for command_name in sorted(own | group.commands.keys()):
        command = group.find_command(command_name)
        operation = load_operations()[command.operation or f"{address}{command_name}"]
        app.command(
            command_name,
            help=command.summary or f"{operation.summary}.",
            epilog=_READ if operation.verb == "get" else _ORDERED if operation.waits else _DONE,
        )(_build_function(command_name, command, operation, load_engines))
    return app


def _build_function(name: str, command: Command, operation: Operation, load_engines: LoadEngines | None) -> Callable[..., None]:
    """Typer reads its signature: one parameter for each value."""

    def call_operation(**values: Any) -> None:
        del values

    call: Any = defer("bot.cli.nouns.calling", name, command, operation, load_engines)(call_operation)

    parameters = [*_list_parameters(command, operation)]
    call.__signature__ = inspect.Signature(sorted(parameters, key=lambda each: each.default is not inspect.Parameter.empty))
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return cast("Callable[..., None]", call)


def _list_parameters(command: Command, operation: Operation) -> Iterator[inspect.Parameter]:
    parameters = [
        one for one in operation.parameters if one.name not in command.fixed and not (operation.has_pages and one.name in _PAGING)
    ]
    for parameter in parameters:
        yield _build_parameter(command, parameter)
    if operation.takes_file:
        yield _make("file", Annotated[str, typer.Argument(metavar="FILE", help="A YAML or JSON file; - for standard input.")])
    if command.is_for_person:
        yield _make(
            "person", Annotated[str, typer.Option("--for", help="The person or token with whose rights it works, such as tg:1007.")]
        )
    if operation.rows:
        count = typer.Option(min=0, help="Only so many of them, as they stand here; 0 = all.")
        yield _make("last", Annotated[int, count], command.last)
    if operation.waits:
        yield _make("wait", _WAIT, 10.0)
    if not operation.is_text:
        yield _make("as_json", _ALWAYS["as_json"], default=False)
        yield _make("language", _ALWAYS["language"], "en")


def _make(name: str, annotation: object, default: object = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _build_parameter(command: Command, parameter: Parameter) -> inspect.Parameter:
    """An argument for what is needed, else an option."""
    kind, limits = _find_type(parameter)
    python_name = f"{parameter.place}_{parameter.name}"
    may_be_left_out = parameter.name in command.without or (
        parameter.place == "revision" and (command.finds_revision or bool(command.without))
    )
    if parameter.is_required and not may_be_left_out and parameter.place != "revision":
        about = _PART if parameter.name in FINDS else parameter.help
        return _make(python_name, Annotated[kind, typer.Argument(metavar=parameter.name.removesuffix("_id").upper(), help=about, **limits)])
    about = f"{parameter.help}{' Such as deal=481, as JSON or plain text; may be given again.' if parameter.takes_pairs else ''}"
    option = typer.Option(f"--{parameter.option}", help=about, **limits)
    if parameter.is_required and not may_be_left_out:
        return _make(python_name, Annotated[kind, option])
    return _make(python_name, Annotated[kind | None, option], None)


def _find_type(parameter: Parameter) -> tuple[Any, dict[str, Any]]:
    """With the limits of values."""
    schema = parameter.schema
    if choices := (schema.get("items") or schema).get("enum"):
        choice: Any = cast("Callable[..., Any]", StrEnum)("Choice", {word: word for word in choices})
        return (list[choice] if schema.get("type") == "array" else choice), {}
    match schema.get("type"):
        case "integer":
            return int, {"min": schema.get("minimum"), "max": schema.get("maximum")}
        case "boolean":
            return bool, {}
        case "object" | "array":
            return list[str], {}
        case _:
            return str, {}


def build_runs(load_engines: LoadEngines | None = None) -> typer.Typer:
    """Events are told in the journal's words, which the API does not have."""
    app = build_group("runs", load_engines)
    app.command("events")(show_run)
    return app


@defer("bot.cli.journal.sessions")
def show_run(
    run: Annotated[str, typer.Argument(help="The run's id, or a part at its beginning or end that only one run has.")],
    last: Annotated[int, typer.Option(min=0, help="Only so many events, the newest; 0 = all.")] = 100,
    *,
    as_json: Annotated[bool, typer.Option("--json", help=AS_JSON)] = False,
) -> None:
    """Show what happened in a run, one line for each event. Exit codes: 0 = shown, 1 = a record cannot be read, 2 = no such run."""


def build_definitions(load_engines: LoadEngines | None = None) -> typer.Typer:
    """To check a file needs no database, so it is no request."""
    app = build_group("definitions", load_engines)

    @app.command("check")
    @defer("bot.cli.author.writing", load_engines)
    def show_checked(
        kind: Annotated[str, typer.Argument(help="The kind of definitions, which is that of an engine.")],
        file: Annotated[str, typer.Argument(metavar="FILE", help="A YAML or JSON file; - for standard input.")],
        *,
        as_json: Annotated[bool, typer.Option("--json", help=AS_JSON)] = False,
    ) -> None:
        """Show everything that is wrong with a file, without storing it.

        Exit codes: 0 = it can be saved, 1 = it has mistakes, 2 = wrong use, or the file cannot be read.
        """

    return app


audit = build_group("audit")
cards = build_group("cards")
definitions = build_definitions()
sessions = build_group("sessions")
runs = build_runs()
schedules = build_group("schedules")
