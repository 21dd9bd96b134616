"""`sdelka journal`: the signatures of its commands."""

import re
from typing import Annotated, Final, Literal

import typer
from typer.core import TyperCommand

from bot.cli.deferred import defer
from bot.cli.options import AS_JSON

_SESSIONS: Final = "bot.cli.journal.sessions"
_ACTIVITY: Final = "bot.cli.journal.activity"
_SESSION_HELP: Final = "tg:7, session:tg:7, or a part that only one session has; a group's number after --: show -- -100200001."
_MOMENT_HELP: Final = "A record number, or a time in UTC: 2026-11-21T14:05:00Z, '2026-11-21 14:05', 14:05 (today), '2h ago'."
_TIME_HELP: Final = "A time in UTC: 2026-11-21, '2026-11-21 14:05', '7 days ago'."
_WHAT_HELP: Final = (
    "The id of a call or a card (or its first or last characters), a trace id, or a record: deal 481, contact 12, task 5, item 177 3."
)
_ANCHOR_HELP: Final = """Where to: a file (appended; it must not be yours to rewrite),
"-" (standard output, as for `| ssh ops tee -a anchors`), "syslog",
"syslog:HOST[:PORT]", or "telegram:CHAT_ID"."""
_CODES: Final = "Exit codes: 0 = shown, 1 = no such session, or a record cannot be read, 2 = wrong use or the database cannot be read."
_TAIL_CODES: Final = _CODES.replace("0 = shown", "0 = shown (also after Ctrl-C)")
_STATS_CODES: Final = "Exit codes: 0 = shown, 1 = shown, but a record cannot be read, 2 = wrong use or the database cannot be read."
_EXPORT_CODES: Final = "Exit codes: 0 = exported, 1 = exported, but a record cannot be read, 2 = wrong use or the database cannot be read."
_WHY_CODES: Final = (
    "Exit codes: 0 = shown, 1 = nothing found, or a record cannot be read, 2 = wrong use,"
    " or several calls fit, or the database cannot be read."
)
_GROUP_ID: Final = re.compile(r"-[0-9]{5,}", re.ASCII)

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Read, verify and, where the law asks, erase the journal.")


class GroupIdCommand(TyperCommand):
    """A group's id such as -100200001 looks like an option: the error says to write it after `--`."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override] # typer keeps its own kind of context to itself
        """Raises BadParameter (exit code 2) for a group's id."""
        before = args[: args.index("--")] if "--" in args else args
        number = next((word for word in before if _GROUP_ID.fullmatch(word)), "")
        if number:
            raise typer.BadParameter(f"{number} looks like an option: write it last, behind two dashes: -- {number}")
        return super().parse_args(ctx, args)


@app.command(cls=GroupIdCommand, epilog=_CODES)
@defer(_SESSIONS)
def show(
    session: str = typer.Argument("", help=f"{_SESSION_HELP} Without it: a table of all sessions."),
    last: int = typer.Option(100, min=0, help="Only so many events, the newest; 0 = all."),
    type_: list[str] = typer.Option([], "--type", help="Only events of this type, such as CallStarted; may be given again."),  # noqa: B008 - typer reads it
    *,
    as_json: bool = typer.Option(False, "--json", help=AS_JSON),
) -> None:
    """Show what was said and done in a conversation, one line per event, in words. Without a session, list all conversations."""


@app.command(cls=GroupIdCommand, epilog=_CODES)
@defer(_SESSIONS)
def replay(
    session: str = typer.Argument(..., help=_SESSION_HELP),
    until: str = typer.Option(..., help=_MOMENT_HELP),
    *,
    step: bool = typer.Option(False, "--step", help="The change made by each event up to there."),
    as_json: bool = typer.Option(False, "--json", help="The whole state as JSON; with --step one object an event."),
) -> None:
    """Show the state of a conversation as it was at a moment: goals, open cards, current records, work in progress. Sends nothing."""


@app.command(cls=GroupIdCommand, epilog=_CODES)
@defer(_SESSIONS)
def diff(
    session: str = typer.Argument(..., help=_SESSION_HELP),
    start: str = typer.Argument(..., metavar="FROM", help=_MOMENT_HELP),
    end: str = typer.Argument(..., metavar="TO", help="As FROM."),
    *,
    as_json: bool = typer.Option(False, "--json", help=AS_JSON),
) -> None:
    """Show what changed in the state of a conversation between two moments: + was added, - was removed, ~ has a new value."""


@app.command(epilog=_WHY_CODES)
@defer("bot.cli.journal.why")
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


@app.command(cls=GroupIdCommand, epilog=_TAIL_CODES)
@defer(_ACTIVITY)
def tail(
    sessions: Annotated[list[str] | None, typer.Argument(metavar="[SESSION]…", help="Only these sessions; all without.")] = None,
    last: int = typer.Option(20, "--last", "-n", min=0, help="How many of the newest events first."),
    *,
    follow: bool = typer.Option(False, "--follow", "-f", help="Go on with new events as they come, until Ctrl-C."),
    as_json: bool = typer.Option(False, "--json", help="One JSON object a line instead of text."),
) -> None:
    """Show the newest events of all sessions, and with -f each new event once, in the order of its session."""


@app.command(epilog=_STATS_CODES)
@defer(_ACTIVITY)
def stats(
    since: str = typer.Option("", help="Count from here: a time in UTC such as 2026-11-21, '2026-11-21 14:05', '7 days ago'."),
    *,
    as_json: bool = typer.Option(False, "--json", help="One JSON object."),
) -> None:
    """Show totals of the journal: messages, calls, decisions, refused calls, model tokens and sizes; most of them also by day.

    Also shown are how long decisions took, how many calls have an unknown outcome, and what waits in the inbox and the outbox.
    """


@app.command()
@defer("bot.cli.journal.verify")
def verify(
    *,
    anchor: str = typer.Option("", help="File with lines of `sdelka journal anchor`: the journal must still hold what they name."),
    no_logs: bool = typer.Option(False, "--no-logs", help="Leave the audit logs out."),
    as_json: bool = typer.Option(False, "--json", help=AS_JSON),
) -> None:
    """Check everything that is stored: journal, effects, snapshots, large answers, audit logs and their archives.

    Exit codes: 0 everything is whole, 1 something is damaged, missing or contradicts itself, 2 wrong use or no database, 3 only the end of
    a stream or log is gone. See docs/verify.md.
    """


@app.command("anchor")
@defer("bot.cli.journal.anchor")
def write_anchor(
    to: str = typer.Option("-", help=_ANCHOR_HELP),
    *,
    own: bool = typer.Option(default=False, help="Take a file that you could rewrite yourself all the same."),
) -> None:
    """Write where every stream stands (number and hash of its last record) to a place that the bot cannot rewrite.

    Afterwards `sdelka journal verify --anchor FILE` notices also what no chain can notice of itself: an end that is gone, or a journal
    written anew from the beginning. Exit codes: 0 written, 2 wrong use, or the place did not take it. See docs/verify.md.
    """


@app.command(epilog=_EXPORT_CODES)
@defer(_ACTIVITY)
def export(
    format_: Literal["jsonl", "cef"] = typer.Option("jsonl", "--format", help="jsonl, or cef for a SIEM; docs/journal.md has the mapping."),
    since: str = typer.Option("", help=f"Only events from then on. {_TIME_HELP}"),
    until: str = typer.Option("", help="Only events before then."),
    types: str = typer.Option("", help="Only events of these types, with commas: CallStarted,CallSucceeded."),
    *,
    redact: bool = typer.Option(
        False, "--redact", help="Without names, words of people and values of the CRM: ids, codes, counts, moments."
    ),
) -> None:
    """Write every event to stdout with all its fields and its hash; secrets are hidden."""


@app.command()
@defer("bot.cli.journal.erase")
def erase(
    person: str = typer.Argument("", help="Key (tg:7), Telegram id or name."),
    *,
    yes: bool = typer.Option(default=False, help="Do not ask; for scripts."),
    force: bool = typer.Option(default=False, help="Withdraw open cards and drop unworked inputs of the person first."),
    listed: bool = typer.Option(False, "--list", help="Who was erased so far: to be repeated after a backup is restored."),
    as_json: bool = typer.Option(False, "--json", help=AS_JSON),
) -> None:
    """Erase one person: delete the key that decrypts their records, their rows and their audit log, then search for their names and key.

    First remove the person from ACCESS_FILE; a running bot notices that within seconds. Earlier backups and exports are not changed. Exit
    codes: 0 = erased, and nothing was found afterwards, 1 = something remains (each place is named), the erasure cannot be proven, or a
    stored key is damaged, 2 = wrong use, or no database of the current schema, 3 = refused: the bot runs on the embedded database, the
    person has open confirmation cards or waiting inputs, or you did not confirm. See docs/erasure.md.
    """
