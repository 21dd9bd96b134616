"""The command group `sdelka schedules`: list and show schedules, make one, pause, resume or cancel it.

A schedule starts runs (executions of scenarios, flows and workflows) at moments that were set before. What changes one is stored as an
inbox row (an input for the bot) and carried out by a bot that works with the same database.
"""

import getpass
from typing import TYPE_CHECKING, Annotated, Final

import typer

from bot.cli.inputs import EXIT_CODES, Wait, build_input_row, check_person, format_time, parse_arg, submit_input
from bot.cli.ops import AS_JSON, escape_text, open_database_reader, open_database_writer, write_json_lines, write_table
from orchestrator.domain.errors import SettingsError

if TYPE_CHECKING:
    from orchestrator.domain.schedule_inputs import ScheduleOrderName
    from state.journal.schedule_index import FoundSchedule
    from state.journal.store import Store

app = typer.Typer(no_args_is_help=True, add_completion=False, help="List, show, make and control schedules.")

NOT_DONE: Final = 1
_Id = Annotated[str, typer.Argument(help="The schedule's id, or a part at its beginning or end that only one schedule has.")]
_Json = Annotated[bool, typer.Option("--json", help=AS_JSON)]


@app.callback()
def group() -> None:
    """List, show, make and control schedules, which start runs at moments that were set before."""


@app.command(name="list")
def list_(
    *,
    status: Annotated[str, typer.Option(help="Only waiting or paused ones.")] = "",
    engine: Annotated[str, typer.Option(help="Only schedules of this engine.")] = "",
    owner: Annotated[str, typer.Option(help="Only schedules of this person or token, such as tg:1007.")] = "",
    as_json: _Json = False,
) -> None:
    """List the schedules, the one that is due next first. Exit codes: 0 = listed, 2 = wrong use, or the database cannot be read."""
    from state.journal.schedule_index import collect_schedules  # noqa: PLC0415 - help needs none of it, see bot.cli.ops

    if status not in {"", "waiting", "paused"}:
        raise SettingsError(escape_text(f"there is no status {status}"))
    with open_database_reader() as store:
        known = collect_schedules(store, lambda of, _home: owner in {"", of})
    found = [one for one in known if status in {"", one.entry.status} and engine in {"", one.entry.engine}]
    if as_json:
        write_json_lines([_to_json(one) for one in found])
        return
    columns = ("schedule", "status", "engine", "definition", "owner", "home", "when", "line", "runs", "missed")
    rows = [
        (
            one.schedule,
            f"{one.entry.status} ({one.entry.why})" if one.entry.why else one.entry.status,
            one.entry.engine,
            one.entry.definition,
            one.entry.owner,
            one.home,
            format_time(one.entry.due) if one.entry.status == "waiting" else "—",
            f"{one.entry.cron} ({one.entry.zone})" if one.entry.cron else "once",
            one.entry.started,
            one.entry.missed,
        )
        for one in found
    ]
    write_table(columns, rows)


@app.command()
def show(schedule: _Id, *, as_json: _Json = False) -> None:
    """Show one schedule and its next moments. Exit codes: 0 = shown, 2 = no such schedule, or several fit."""
    from orchestrator.schedules.words import list_moments  # noqa: PLC0415 - see list_
    from state.canonical import dumps  # noqa: PLC0415 - see list_
    from state.clock import format_iso, parse_iso  # noqa: PLC0415 - see list_

    with open_database_reader() as store:
        found = _find_schedule(store, schedule)
    entry = found.entry
    if as_json:
        write_json_lines([_to_json(found)])
        return
    later = list_moments(entry, parse_iso(entry.due), 2)
    told = {
        "schedule": found.schedule,
        "status": f"{entry.status} ({entry.why})" if entry.why else entry.status,
        "starts": f"{entry.definition} ({entry.engine})",
        "works for": entry.owner,
        "shown in": found.home,
        "line": f"{entry.cron} ({entry.zone})" if entry.cron else "once",
        "next": ", ".join([format_time(entry.due), *(format_time(format_iso(one)) for one in later)]) if entry.status == "waiting" else "—",
        "note": entry.note or "—",
        "values": dumps({name: arg.get("data") for name, arg in entry.args.items()}),
        "made": f"{format_time(entry.created_at)}{f' by {entry.by}' if entry.by else ''}",
        "runs": f"{entry.started}, the last {entry.run} at {format_time(entry.fired_at)}" if entry.run else "none yet",
        "missed": f"{entry.missed}, {entry.skipped} in a row: {entry.skip_why}" if entry.skip_why else str(entry.missed),
    }
    write_table(("what", "is"), list(told.items()))


@app.command(epilog=EXIT_CODES)
def add(  # noqa: PLR0913 - the options of a command
    engine: Annotated[str, typer.Argument(help="The engine that executes it.")],
    definition: Annotated[str, typer.Argument(help="The key of the definition.")],
    *,
    person: Annotated[str, typer.Option("--for", help="The person or token with whose rights its runs work, such as tg:1007.")],
    at: Annotated[str | None, typer.Option(help="One moment with its offset from UTC, such as 2026-12-01T09:00+03:00.")] = None,
    cron: Annotated[str | None, typer.Option(help='Minute, hour, day, month, day of the week, such as "0 9 * * 1-5".')] = None,
    zone: Annotated[str, typer.Option(help="The time zone of --cron; by default that of the person.")] = "",
    note: Annotated[str, typer.Option(help="A few words for the list.")] = "",
    home: Annotated[str, typer.Option(help="The group in which its runs are shown; by default the person's own chat.")] = "",
    arg: Annotated[list[str] | None, typer.Option(help="A value such as deal=481, as JSON or plain text; may be given again.")] = None,
    wait: Wait = 10.0,
    as_json: _Json = False,
) -> None:
    """Make a schedule for a person. Its runs work with the rights that this person has at each moment."""
    from orchestrator.domain.actor import Actor  # noqa: PLC0415 - see list_
    from orchestrator.domain.address import Address, find_own_chat  # noqa: PLC0415 - see list_
    from orchestrator.domain.schedule_inputs import ScheduleAdd  # noqa: PLC0415 - see list_
    from orchestrator.language.schedule_terms import TermsError, check_moment, parse_terms  # noqa: PLC0415 - see list_
    from state.clock import SystemClock, generate_id  # noqa: PLC0415 - see list_
    from state.events.schedules import ScheduleAdded  # noqa: PLC0415 - see list_
    from state.journal.streams import to_stream  # noqa: PLC0415 - see list_

    check_person(person)
    place = home or find_own_chat(person)
    if not (place == person or place.startswith(f"{person}:") or Address.parse(place).is_group):
        raise SettingsError("--home: what starts on schedule is shown in the person's own chat, or in a group such as tg:-100200300")
    try:
        check_moment(parse_terms(at, cron, zone or "UTC"), SystemClock().now())
    except TermsError as error:
        raise SettingsError(escape_text(f"--{error.param}: {error.detail}")) from None
    schedule = generate_id()
    asked = ScheduleAdd(
        schedule=schedule,
        engine=engine,
        definition=definition,
        args={name: {"data": value, "origins": ["person"]} for name, value in map(parse_arg, arg or ())},
        at=at,
        cron=cron,
        zone=zone,
        note=" ".join(note.split()),
        by=f"cli:{getpass.getuser()}",
    )
    with open_database_writer() as store:
        seq, _ = store.read_head(to_stream(place))
        worked = submit_input(store, build_input_row(place, asked, Actor(key=person, name=person)), wait)
        done = _has_happened(store, place, seq, ScheduleAdded.__name__, schedule)
    _tell(schedule, "add", worked=worked, done=done, as_json=as_json)


def _add_order(order: "ScheduleOrderName", what: str) -> None:
    """Add the command that gives this order to a schedule; `what` is its help text."""

    @app.command(name=order, help=what, epilog=EXIT_CODES)
    def give(schedule: _Id, *, wait: Wait = 10.0, as_json: _Json = False) -> None:
        _submit_order(schedule, order, wait=wait, as_json=as_json)


_add_order("pause", "Let a schedule start nothing until it is resumed.")
_add_order("resume", "Let a paused schedule go on with its next moment.")
_add_order("cancel", "End a schedule; a run that has begun goes on.")


def _submit_order(text: str, order: "ScheduleOrderName", *, wait: float, as_json: bool) -> None:
    from orchestrator.domain.actor import Actor  # noqa: PLC0415 - see list_
    from orchestrator.domain.schedule_inputs import ScheduleOrder  # noqa: PLC0415 - see list_
    from orchestrator.schedules.orders import FITTING  # noqa: PLC0415 - see list_
    from state.events.schedules import ScheduleEnded, SchedulePaused, ScheduleResumed  # noqa: PLC0415 - see list_
    from state.journal.streams import to_stream  # noqa: PLC0415 - see list_

    kinds = {"pause": SchedulePaused.__name__, "resume": ScheduleResumed.__name__, "cancel": ScheduleEnded.__name__}
    user = getpass.getuser()
    actor = Actor(key=f"cli:{user}", name=user, role="admin", sees="all")
    with open_database_writer() as store:
        found = _find_schedule(store, text)
        if found.entry.status not in FITTING[order]:
            wanted = " or ".join(sorted(FITTING[order]))
            typer.echo(f"The schedule is {found.entry.status}; {order} is for a schedule that is {wanted}.", err=True)
            raise typer.Exit(NOT_DONE)
        seq, _ = store.read_head(to_stream(found.home))
        worked = submit_input(store, build_input_row(found.home, ScheduleOrder(schedule=found.schedule, order=order), actor), wait)
        done = _has_happened(store, found.home, seq, kinds[order], found.schedule)
    _tell(found.schedule, order, worked=worked, done=done, as_json=as_json)


def _has_happened(store: "Store", home: str, after: int, kind: str, schedule: str) -> bool:
    """Return whether the session has an event of this kind about the schedule among those after the number `after`."""
    from state.journal.streams import to_stream  # noqa: PLC0415 - see list_

    while page := store.read_events(to_stream(home), after=after):
        if any(event.type == kind and event.data.get("schedule") == schedule for event in page):
            return True
        after = page[-1].seq
    return False


def _tell(schedule: str, order: str, *, worked: bool, done: bool, as_json: bool) -> None:
    """Say what came of the input, on stdout or, if it was not carried out, on stderr with exit code 1."""
    if as_json:
        write_json_lines([{"id": schedule, "order": order, "taken": worked, "done": done}])
    elif done:
        typer.echo(f"{order}: done for the schedule {schedule}.")
    elif worked:
        typer.echo(f"{order}: the bot refused it for the schedule {schedule}; its chat says why, and `sdelka logs` has more.", err=True)
    else:
        typer.echo(
            f"{order}: stored for the schedule {schedule}, but no bot has taken it: does `sdelka run` work with this database? "
            "It is carried out as soon as one does.",
            err=True,
        )
    if not done:
        raise typer.Exit(NOT_DONE)


def _find_schedule(store: "Store", text: str) -> "FoundSchedule":
    """Return the schedule that `text` denotes: the whole id, or a part at its beginning or end. Raises SettingsError."""
    from state.journal.schedule_index import collect_schedules  # noqa: PLC0415 - see list_

    wanted = text.strip()
    known = collect_schedules(store) if wanted else []
    fits = [one for one in known if one.schedule == wanted] or [
        one for one in known if one.schedule.startswith(wanted) or one.schedule.endswith(wanted)
    ]
    if not fits:
        raise SettingsError(escape_text(f"there is no schedule {text!r}; `sdelka schedules list` shows all"))
    if len(fits) > 1:
        ids = ", ".join(one.schedule for one in fits[:5])
        raise SettingsError(escape_text(f"{text!r} may be {ids}{' …' if len(fits) > 5 else ''}: give more of it"))  # noqa: PLR2004 - a line's worth
    return fits[0]


def _to_json(found: "FoundSchedule") -> dict[str, object]:
    """Return the schedule without the copy of its person's rights, which is of use only to the program."""
    stored = {name: value for name, value in found.entry.to_stored().items() if name != "actor"}
    return {"id": found.schedule, "home": found.home, "owner": found.entry.owner, **stored}
