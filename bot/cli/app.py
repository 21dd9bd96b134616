"""A command's module is imported only when it is called. A SettingsError is one sentence on stderr and exit code 2."""

import errno
import os
import sys
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from bot.cli.deferred import defer
from bot.cli.options import Language
from bot.plugins.loading import UNUSABLE, load_plugins, note_fault
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.value_faults import describe_fault

sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # its command line imports rich and pygments
_UNWRITABLE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""A file that takes no more, such as the one to which the output goes."""
_SERVERS = ("portal", "telegram", "model")


class _Commands(TyperGroup):
    """Says in our words what is needed where a value of the command line is refused."""

    def invoke(self, ctx: Any) -> Any:  # its type is private to Typer
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            if find_faults := getattr(error.__cause__, "errors", None):  # pydantic's, which is imported when it is needed
                error.message = describe_fault(find_faults()[0])
            raise


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Sdelka: a Telegram copilot for Bitrix24.",
)
_PASS_THROUGH = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Another module parses the arguments; it is imported when the command runs, which keeps `--help` fast."""


@app.command()
@defer("bot.cli.work.bot")
def run() -> None:
    """Run the bot until it is stopped: serve Telegram, the HTTP API, or both, as the settings say."""


@app.command()
@defer("bot.cli.work.bot")
def chat(
    name: Annotated[str, typer.Option(help="Name of the conversation.")] = "local",
    user: Annotated[int | None, typer.Option(help="Your employee number in Bitrix24.")] = None,
    language: Annotated[Language, typer.Option(help="The language of the copilot.")] = "ru",
) -> None:
    """Talk to the copilot in this terminal; changes are confirmed with y or n."""


def _add_lazy_command(name: str, module: str, what: str, attribute: str = "app", engine: str = "") -> None:
    """`what` is its help text, `attribute` the Typer application in the module, `engine` whose command it is."""

    @app.command(name, help=what, context_settings=_PASS_THROUGH, add_help_option=False)
    def handed_on(context: typer.Context) -> None:
        try:
            command = getattr(import_module(module), attribute)
        except UNUSABLE as error:
            if not engine or isinstance(error, SettingsError):
                raise
            why = f"{type(error).__name__}: {error}"
            raise SettingsError(f"sdelka {name} of the engine {engine} cannot be used: {module}: {why}") from error
        if code := command(context.args, prog_name=f"sdelka {name}", standalone_mode=False):
            raise typer.Exit(code)


_add_lazy_command("ask", "bot.cli.ask", "Ask the tool agent in this terminal: questions about documents, haiku, sums.")
_add_lazy_command("services", "bot.cli.services", "Serve what the tool agent asks: documents, haiku.")
_add_lazy_command("journal", "bot.cli.journal.app", "Read, verify and, where the law asks, erase the journal.")
_add_lazy_command("logs", "bot.cli.logs", "Check, show, follow and rebuild the audit logs.")
_add_lazy_command(
    "runs", "bot.cli.nouns.commands", "List, show, start and control runs: executions of scenarios, flows and workflows.", "runs"
)
_add_lazy_command(
    "definitions", "bot.cli.nouns.commands", "List, save, compare, publish, switch definitions: what runs execute.", "definitions"
)
_add_lazy_command("author", "bot.cli.author.app", "Write definitions of any kind: begin, check, draw, try, test and record them.")
_add_lazy_command("schema", "bot.cli.schema", "Print the JSON Schema of a kind of definitions, for editors.")
_add_lazy_command(
    "schedules", "bot.cli.nouns.commands", "List, show, make and control schedules, which start runs by themselves.", "schedules"
)
_add_lazy_command("cards", "bot.cli.nouns.commands", "List, show, approve and deny cards: calls that wait for a decision.", "cards")
_add_lazy_command("audit", "bot.cli.nouns.commands", "Who asked for which call, who approved it, what was sent.", "audit")
_add_lazy_command("sessions", "bot.cli.nouns.commands", "What happened in a conversation.", "sessions")
_add_lazy_command("backup", "bot.cli.copies", "Database and audit logs in one file, beside a running bot.", "backups")
_add_lazy_command("restore", "bot.cli.copies", "Bring a backup back into an empty place, or try whether it could be.", "restoring")
_add_lazy_command("db", "bot.cli.copies", "Move the database to PostgreSQL or back.", "databases")
_add_lazy_command("policy", "bot.cli.policy", "Check and explain the rules, and rehearse others on the plans that the journal holds.")
_add_lazy_command("doctor", "bot.cli.doctor", "Explain every missing or wrong setting, and check each party.")
_add_lazy_command("freeze", "bot.cli.limits", "Stop all writing to the portal at once, or let it start again.", "freezing")
_add_lazy_command("budget", "bot.cli.limits", "How much of the model everybody has used this month.", "budgets")
_add_lazy_command("invite", "bot.cli.invite", "Make a link by which one employee of the portal joins.")
_add_lazy_command("people", "bot.cli.invite", "Who may use the bot, and how to end that.", "people")


@app.command(context_settings=_PASS_THROUGH, add_help_option=False)
def demo(context: typer.Context) -> None:
    """Try the bot without any account: run it with a simulated CRM, a chat page and a rule-based model on this machine."""
    _execute_module("sandbox.demo", context.args)


@app.command(context_settings=_PASS_THROUGH, add_help_option=False)
def sandbox(context: typer.Context) -> None:
    """Start one simulated server without the bot: `sdelka sandbox portal|telegram|model --port N [--data DIR]`."""
    if not context.args or context.args[0] not in _SERVERS:
        raise SettingsError(f"sdelka sandbox needs one of: {', '.join(_SERVERS)}")
    _execute_module(f"sandbox.{context.args[0]}", context.args[1:])


def _add_groups_of_engines() -> None:
    """Behind `author`; one whose name is taken is left out."""
    own, added = app.registered_commands[:], len(app.registered_commands)
    names = {command.name or command.callback.__name__ for command in own if command.callback is not None}
    for plugin in load_plugins():
        for group in plugin.terminal:
            if group.name in names:
                note_fault(plugin.name, "terminal", f"the command sdelka {group.name} is taken")
                continue
            names.add(group.name)
            _add_lazy_command(group.name, group.module, group.summary, engine=plugin.name)
    place = next(number for number, command in enumerate(own, start=1) if command.name == "author")
    app.registered_commands[:] = [*own[:place], *app.registered_commands[added:], *own[place:]]


_add_groups_of_engines()


def _execute_module(module: str, arguments: list[str]) -> None:
    """The bot must not import the sandbox itself."""
    os.execv(sys.executable, [sys.executable, "-m", module, *arguments])  # noqa: S606 - our own module, no shell


def main() -> None:
    """An output that takes no more is exit code 1."""
    try:
        _run_app()
    except SettingsError as error:
        sys.stderr.write(f"{error.reason}\n")
        sys.exit(2)
    except OSError as error:
        if error.errno not in _UNWRITABLE or error.filename is not None:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python writes what is left when it ends
        sys.stderr.write(f"the output cannot be written: {error.strerror}\n")
        sys.exit(1)


def _run_app() -> None:
    """Raises OSError if not all output can be written."""
    try:
        app()
    finally:
        if sys.stdout is not None:  # a closed standard output is none
            sys.stdout.flush()
