"""The command group `sdelka runs`: list and show runs, start one, pause, resume, retry or cancel one, and read its events.

A run is one execution of a scenario, flow or workflow. What changes a run is stored as an inbox row (an input for the bot) and carried out
by a bot that works with the same database; the commands wait a little for that and say so if nothing takes the input.
"""

import getpass
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from bot.cli.inputs import EXIT_CODES, Wait, build_input_row, check_person, format_time, parse_arg, submit_input
from bot.cli.ops import AS_JSON, escape_text, open_database_reader, open_database_writer, write_json_lines, write_table
from orchestrator.domain.errors import SettingsError

if TYPE_CHECKING:
    from orchestrator.runs.orders import Order
    from state.events.runs import RunFinished
    from state.journal.run_index import RunRow
    from state.journal.store import Store
    from state.model.run_state import RunState

app = typer.Typer(no_args_is_help=True, add_completion=False, help="List, show, start and control runs.")

NOT_DONE: Final = 1
_ID_HELP = "The run's id, or a part at its beginning or end that only one run has."
_Id = Annotated[str, typer.Argument(help=_ID_HELP)]
_Json = Annotated[bool, typer.Option("--json", help=AS_JSON)]


@app.callback()
def group() -> None:
    """List, show, start and control runs: executions of scenarios, flows and workflows."""


@app.command(name="list")
def list_(
    *,
    status: Annotated[list[str] | None, typer.Option(help="Such as waiting or failed; may be given again.")] = None,
    engine: Annotated[str, typer.Option(help="Only runs of this engine.")] = "",
    owner: Annotated[str, typer.Option(help="Only runs with the rights of this person or token, such as tg:1007.")] = "",
    last: Annotated[int, typer.Option(min=1, max=1000, help="So many runs, the newest.")] = 50,
    as_json: _Json = False,
) -> None:
    """List the runs, the one that was started last first. Exit codes: 0 = listed, 2 = wrong use, or the database cannot be read."""
    from state.journal.run_index import RunFilter  # noqa: PLC0415 - help needs none of it, see bot.cli.ops

    statuses = tuple(status or ())
    if wrong := set(statuses) - {"running", "waiting", "paused", "done", "failed", "cancelled"}:
        raise SettingsError(escape_text(f"there is no status {', '.join(sorted(wrong))}"))
    with open_database_reader() as store:
        runs = store.list_runs(RunFilter(engine=engine, owner=owner, statuses=statuses, limit=last))
    if as_json:
        write_json_lines([row._asdict() for row in runs])
        return
    columns = ("run", "status", "engine", "definition", "owner", "home", "when", "last activity")
    write_table(columns, [_build_cells(row) for row in runs])


@app.command()
def show(run: _Id, *, as_json: _Json = False) -> None:
    """Show one run: where it stands or why it failed, what it waits for since when, and which calls of the model have no answer.

    Exit codes: 0 = shown, 2 = no such run, or several fit.
    """
    from orchestrator.reports.open_model_calls import list_open_model_calls  # noqa: PLC0415 - see list_

    with open_database_reader() as store:
        run_id = find_run(store, run)
        state, _ = _load_run(store, run_id)
        calls = list_open_model_calls(store, f"run:{run_id}")
        end = _find_end(store, run_id) if state.is_over else None
    why = end.detail if end is not None and state.status == "failed" else ""
    left = {"changes": f"{end.changes_made} made, {end.changes_left} not made"} if end is not None and end.changes_left else {}
    if as_json:
        open_calls = {"model_calls_without_answer": [call.to_json() for call in calls]} if calls else {}
        write_json_lines([{"id": run_id, **_hide_owner(state.to_stored()), **({"detail": why} if why else {}), **left, **open_calls}])
        return
    parent = {"started by": state.parent} if state.parent else {}
    told = {
        "run": run_id,
        "status": f"{state.status} ({state.code})" if state.code else state.status,
        **({"why": why} if why else {}),
        **left,
        **({"title": state.title} if state.title else {}),
        "definition": f"{state.definition} version {state.version} ({state.engine})",
        "works for": state.owner,
        "shown in": state.home,
        "mode": state.mode,
        **parent,
        "started": format_time(state.started_at),
        "changed": format_time(state.updated_at),
        "nodes done": state.done,
        "nodes failed": ", ".join(f"{node} ({times})" for node, times in state.failures.items()) or "—",
    }
    write_table(("what", "is"), list(told.items()))
    if state.waits:
        waits = [
            (node, run_wait.on, run_wait.waits_for, format_time(run_wait.since), format_time(run_wait.until), ", ".join(run_wait.answers))
            for node, run_wait in state.waits.items()
        ]
        write_table(("node", "waits for", "key", "when", "until", "who answers"), waits, title="waits")
    if calls:
        is_over = state.status in {"done", "failed", "cancelled"}
        asked = [
            (one.place, format_time(one.asked_at), one.model, one.tokens, "lost" if one.asked_again or is_over else "under way or lost")
            for one in calls
        ]
        write_table(("node", "asked", "model", "tokens, estimated", "the call is"), asked, title="model calls without an answer")


@app.command()
def events(
    run: _Id,
    last: Annotated[int, typer.Option(min=0, help="Only so many events, the newest; 0 = all.")] = 100,
    *,
    as_json: _Json = False,
) -> None:
    """Show what happened in a run, one line for each event. Exit codes: 0 = shown, 1 = a record cannot be read, 2 = no such run."""
    from bot.cli.journal.common import format_moment, open_journal  # noqa: PLC0415 - see list_
    from orchestrator.reports.conversations import read_conversation, render_event  # noqa: PLC0415 - see list_

    with open_journal() as reader:
        stream = f"run:{find_run(reader.store, run)}"
        lines = [render_event(event, reader.voice) for event in read_conversation(reader.store, stream, last=last)]
        if as_json:
            write_json_lines([line.to_json() for line in lines])
        else:
            cells = [(line.event.seq, format_moment(line.event.ts), line.who, line.words) for line in lines]
            write_table(("#", "time", "who", "what happened"), cells)


@app.command(epilog=EXIT_CODES)
def start(
    engine: Annotated[str, typer.Argument(help="The engine that executes it.")],
    definition: Annotated[str, typer.Argument(help="The key of the definition.")],
    *,
    person: Annotated[str, typer.Option("--for", help="The person or token with whose rights it works, such as tg:1007.")],
    home: Annotated[str, typer.Option(help="The chat in which it is shown; by default the person's own.")] = "",
    arg: Annotated[list[str] | None, typer.Option(help="A value such as deal=481, as JSON or plain text; may be given again.")] = None,
    wait: Wait = 10.0,
    as_json: _Json = False,
) -> None:
    """Start a run for a person. It works with the rights that this person has in the bot, and is shown in their chat."""
    from orchestrator.domain.actor import Actor  # noqa: PLC0415 - see list_
    from orchestrator.domain.run_inputs import RunStart  # noqa: PLC0415 - see list_
    from orchestrator.domain.taint import Value  # noqa: PLC0415 - see list_
    from orchestrator.runs.memo import format_args  # noqa: PLC0415 - see list_
    from state.clock import generate_id  # noqa: PLC0415 - see list_
    from state.journal.journal import load_state  # noqa: PLC0415 - see list_

    channel = check_person(person)
    args = {name: Value(value, frozenset({"person"})) for name, value in map(parse_arg, arg or ())}
    place = home or (f"{person}:runs" if channel == "http" else person)
    run_id = generate_id()
    order = RunStart(engine=engine, definition=definition, home=place, args=format_args(args))
    with open_database_writer() as store:
        worked = submit_input(store, build_input_row(f"run:{run_id}", order, Actor(key=person, name=person), lane="turn"), wait)
        run = load_state(store, f"run:{run_id}")[0].run
    _tell(run_id, "start", run, worked=worked, done=run is not None, as_json=as_json)


def _add_order(order: "Order", what: str) -> None:
    """Add the command that gives this order to a run; `what` is its help text."""

    @app.command(name=order, help=what, epilog=EXIT_CODES)
    def give(run: _Id, *, wait: Wait = 10.0, as_json: _Json = False) -> None:
        _submit_order(run, order, wait=wait, as_json=as_json)


_add_order("pause", "Stop a run until it is resumed; a call that was sent already is completed.")
_add_order("resume", "Let a paused run go on.")
_add_order("retry", "Run the failed nodes of a failed run again.")
_add_order("cancel", "End a run, and withdraw its open cards and questions.")


def _submit_order(run: str, order: "Order", *, wait: float, as_json: bool) -> None:
    from orchestrator.domain.actor import Actor  # noqa: PLC0415 - see list_
    from orchestrator.domain.run_inputs import RunOrder  # noqa: PLC0415 - see list_
    from orchestrator.runs.orders import FITTING, describe_late_order, is_carried_out  # noqa: PLC0415 - see list_

    user = getpass.getuser()
    actor = Actor(key=f"cli:{user}", name=user, role="admin", sees="all")
    with open_database_writer() as store:
        run_id = find_run(store, run)
        state, seq = _load_run(store, run_id)
        if state.status not in FITTING[order]:
            typer.echo(escape_text(describe_late_order(order, state.status)), err=True)
            raise typer.Exit(NOT_DONE)
        key = f"run:{run_id}"
        worked = submit_input(store, build_input_row(key, RunOrder(order=order), actor), wait)
        now, _ = _load_run(store, run_id)
        done = any(is_carried_out(event, order) for event in store.read_events(key, after=seq))
    _tell(run_id, order, now, worked=worked, done=done, as_json=as_json)


def _tell(run_id: str, order: str, run: "RunState | None", *, worked: bool, done: bool, as_json: bool) -> None:
    """Say what came of the input, on stdout or, if it was not carried out, on stderr with exit code 1."""
    status = run.status if run is not None else ""
    if as_json:
        write_json_lines([{"id": run_id, "order": order, "taken": worked, "done": done, "status": status}])
    elif done:
        typer.echo(escape_text(f"{order}: done. The run {run_id} is {status}."))
    elif worked:
        why = f"it is {status}" if status else "its chat says why, and `sdelka logs` has more"
        typer.echo(escape_text(f"{order}: the bot refused it for the run {run_id}; {why}."), err=True)
    else:
        typer.echo(
            escape_text(
                f"{order}: stored for the run {run_id}, but no bot has taken it: does `sdelka run` work with this database? "
                "It is carried out as soon as one does."
            ),
            err=True,
        )
    if not done:
        raise typer.Exit(NOT_DONE)


def find_run(store: "Store", text: str) -> str:
    """Return the id of the run that `text` denotes: the whole id, or a part at its beginning or end. Raises SettingsError."""
    from state.journal.run_index import RunFilter  # noqa: PLC0415 - see list_

    run_id = text.strip().removeprefix("run:")
    if run_id and (runs := store.list_runs(RunFilter(run_id=run_id))):
        return runs[0].run_id
    fits = [row.run_id for row in _list_all(store) if run_id and (row.run_id.startswith(run_id) or row.run_id.endswith(run_id))]
    if not fits:
        raise SettingsError(escape_text(f"there is no run {text!r}; `sdelka runs list` shows all"))
    if len(fits) > 1:
        raise SettingsError(escape_text(f"{text!r} may be {', '.join(fits[:5])}{' …' if len(fits) > 5 else ''}: give more of it"))  # noqa: PLR2004 - a line's worth
    return fits[0]


def _list_all(store: "Store") -> "list[RunRow]":
    from state.journal.run_index import MOST, NO_TIME, RunFilter  # noqa: PLC0415 - see list_

    found: list[RunRow] = []
    while page := store.list_runs(RunFilter(limit=MOST, after=(found[-1].started_at, found[-1].run_id) if found else (NO_TIME, ""))):
        found += page
    return found


def _load_run(store: "Store", run_id: str) -> "tuple[RunState, int]":
    """Return the run's state and the number of its last event; raises SettingsError if it cannot be read."""
    from state.journal.journal import load_state  # noqa: PLC0415 - see list_

    state, seq = load_state(store, f"run:{run_id}")
    if state.run is None:
        raise SettingsError(f"the stream of the run {run_id} holds no beginning: run `sdelka journal verify`")
    return state.run, seq


def _find_end(store: "Store", run_id: str) -> "RunFinished | None":
    """Return the event with which a run ended."""
    from orchestrator.reports.conversations import read_conversation  # noqa: PLC0415 - see list_
    from state.events.runs import RunFinished  # noqa: PLC0415 - see list_

    ends = list(read_conversation(store, f"run:{run_id}", last=1, types={"RunFinished"}))
    return RunFinished.from_data(ends[-1].data) if ends else None


def _build_cells(row: "RunRow") -> tuple[object, ...]:
    named = (row.run_id, row.status, row.engine, row.definition, row.owner, row.home)
    return *named, format_time(row.started_at), format_time(row.updated_at)


def _hide_owner(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored run without the copy of its person's rights, which is of use only to the program."""
    return {name: value for name, value in stored.items() if name != "actor"}
