"""`sdelka journal show`, `replay` and `diff`: a conversation's events, and its state at a moment. They send nothing."""

import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from orchestrator.reports.replay import Change

_AS_JSON = "One JSON object a line instead of a table."
_SESSION_HELP = "tg:7, session:tg:7, or a part that only one session has; a group's number after --: show -- -100200001."
_MOMENT_HELP = "A record number, or a time in UTC: 2026-11-21T14:05:00Z, '2026-11-21 14:05', 14:05 (today), '2h ago'."
_EXIT_CODES = "Exit codes: 0 = shown, 1 = no such session, or a record cannot be read, 2 = wrong use or the database cannot be read."


def add(app: typer.Typer) -> None:
    app.command(cls=GroupIdCommand, epilog=_EXIT_CODES)(show)
    app.command(cls=GroupIdCommand, epilog=_EXIT_CODES)(replay)
    app.command(cls=GroupIdCommand, epilog=_EXIT_CODES)(diff)


def show(
    session: str = typer.Argument("", help=f"{_SESSION_HELP} Without it: a table of all sessions."),
    last: int = typer.Option(100, min=0, help="Only so many events, the newest; 0 = all."),
    type_: list[str] = typer.Option([], "--type", help="Only events of this type, such as CallStarted; may be given again."),  # noqa: B008 - typer reads it
    *,
    as_json: bool = typer.Option(False, "--json", help=_AS_JSON),
) -> None:
    """Show what was said and done in a conversation, one line per event, in words. Without a session, list all conversations."""
    from bot.cli.journal.common import format_moment, open_journal  # noqa: PLC0415 - heavy; `--help` needs none of it
    from bot.cli.ops import write_json_lines, write_table  # noqa: PLC0415 - see above
    from orchestrator.reports.conversations import list_conversations, read_conversation, render_event  # noqa: PLC0415 - see above
    from orchestrator.reports.reading.journal_reader import find_stream  # noqa: PLC0415 - see above

    with open_journal() as reader:
        if not session:
            conversations = list(list_conversations(reader.store, reader.voice))
            if as_json:
                write_json_lines([vars(conversation) for conversation in conversations])
                return
            rows = [
                (one.session, ", ".join(one.people), one.events, format_moment(one.last), one.open_cards, one.unknown)
                for one in conversations
            ]
            write_table(("session", "people", "events", "last activity", "open cards", "unknown outcomes"), rows)
            return
        stream = find_stream(reader.store, session)
        lines = (render_event(event, reader.voice) for event in read_conversation(reader.store, stream, last=last, types=type_))
        if as_json:
            for line in lines:
                write_json_lines([line.to_json()])
            return
        rows_ = [(line.event.seq, format_moment(line.event.ts), line.who, line.words) for line in lines]
        write_table(("#", "time", "who", "what happened"), rows_)
        if last and len(rows_) == last:
            _write([f"These are the newest {last}; --last 0 shows all."])


def replay(
    session: str = typer.Argument(..., help=_SESSION_HELP),
    until: str = typer.Option(..., help=_MOMENT_HELP),
    *,
    step: bool = typer.Option(False, "--step", help="The change made by each event up to there."),
    as_json: bool = typer.Option(False, "--json", help="The whole state as JSON; with --step one object an event."),
) -> None:
    """Show the state of a conversation as it was at a moment: goals, open cards, current records, work in progress. Sends nothing."""
    from bot.cli.journal.common import format_moment, open_journal  # noqa: PLC0415 - heavy; `--help` needs none of it
    from bot.cli.journal.state_card import format_state  # noqa: PLC0415 - see above
    from bot.cli.ops import write_json_lines  # noqa: PLC0415 - see above
    from orchestrator.reports.conversations import render_event  # noqa: PLC0415 - see above
    from orchestrator.reports.reading.journal_reader import find_stream, hide_secrets, parse_moment, to_session_name  # noqa: PLC0415 - see above
    from orchestrator.reports.replay import replay_state, replay_steps  # noqa: PLC0415 - see above

    with open_journal() as reader:
        stream = find_stream(reader.store, session)
        moment = parse_moment(until, reader.now)
        if step:
            for replayed in replay_steps(reader.store, stream, moment):
                event, words = replayed.event, render_event(replayed.event, reader.voice).words
                if as_json:
                    changes = [hide_secrets(vars(change)) for change in replayed.changes]
                    write_json_lines([{"seq": event.seq, "ts": event.ts, "type": event.type, "words": words, "changes": changes}])
                    continue
                _write([f"#{event.seq} {format_moment(event.ts)} {words}", *(f"    {text}" for text in format_changes(replayed.changes))])
            return
        then = replay_state(reader.store, stream, moment)
        if as_json:
            write_json_lines(
                [{"session": to_session_name(stream), "seq": then.seq, "ts": then.ts, "state": hide_secrets(then.state.to_stored())}]
            )
            return
        _write(format_state(then, reader.voice))


def diff(
    session: str = typer.Argument(..., help=_SESSION_HELP),
    start: str = typer.Argument(..., metavar="FROM", help=_MOMENT_HELP),
    end: str = typer.Argument(..., metavar="TO", help="As FROM."),
    *,
    as_json: bool = typer.Option(False, "--json", help=_AS_JSON),
) -> None:
    """Show what changed in the state of a conversation between two moments: + was added, - was removed, ~ has a new value."""
    from bot.cli.journal.common import format_moment, open_journal  # noqa: PLC0415 - heavy; `--help` needs none of it
    from bot.cli.ops import write_json_lines  # noqa: PLC0415 - see above
    from orchestrator.reports.reading.journal_reader import find_stream, hide_secrets, parse_moment  # noqa: PLC0415 - see above
    from orchestrator.reports.replay import compare_states, replay_state  # noqa: PLC0415 - see above

    with open_journal() as reader:
        stream = find_stream(reader.store, session)
        before, after = (replay_state(reader.store, stream, parse_moment(text, reader.now)) for text in (start, end))
        changes = list(compare_states(before.state.to_stored(), after.state.to_stored()))
        if as_json:
            write_json_lines([hide_secrets(vars(change)) for change in changes])
            return
        ends = " → ".join(f"#{one.seq}{f' ({format_moment(one.ts)})' if one.ts else ' (before the first)'}" for one in (before, after))
        _write([ends, *(format_changes(changes) or ["nothing changed"])])


def format_changes(changes: Iterable["Change"]) -> list[str]:
    """Such as "~ agent.goals[0]: a → b"; control characters are escaped, secrets hidden."""
    from orchestrator.reports.reading.journal_reader import hide_secrets, to_one_line  # noqa: PLC0415 - heavy; `--help` needs none of it

    def told(value: object) -> str:
        return to_one_line("nothing" if value in (None, "", [], {}) else hide_secrets(value), limit=160)

    lines = []
    for change in changes:
        path = to_one_line(change.path, limit=120)
        nonce = path.endswith("nonce")
        before, after = ("***" if nonce else told(value) for value in (change.before, change.after))
        lines.append(
            f"~ {path}: {before} → {after}" if change.sign == "~" else f"{change.sign} {path}: {after if change.sign == '+' else before}"
        )
    return lines


def _write(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


_GROUP_ID = re.compile(r"-[0-9]{5,}", re.ASCII)


class GroupIdCommand(TyperCommand):
    """A group's id such as -100200001 looks like an option: the error says to write it after `--`."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override] # typer keeps its own kind of context to itself
        """Raises BadParameter (exit code 2) for a group's id."""
        before = args[: args.index("--")] if "--" in args else args
        number = next((word for word in before if _GROUP_ID.fullmatch(word)), "")
        if number:
            raise typer.BadParameter(f"{number} looks like an option: write it last, behind two dashes: -- {number}")
        return super().parse_args(ctx, args)
