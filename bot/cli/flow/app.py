"""The commands of `sdelka flow`. Each imports what it needs when it runs, see bot.cli.ops.

Those that play flows (`run`, `test`, `record`) stand in files of their own beside this one.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from bot.cli import ops
from bot.cli.ops import AS_JSON, escape_text, hide_log_lines, write_json_lines, write_table
from orchestrator.domain.errors import SettingsError

if TYPE_CHECKING:
    from bot.cli.flow.files import AgentStore, CheckedFile
    from bot.cli.flow.publishing import Handled
    from bot.i18n.translate import Translator

NOT_DONE: Final = 1
app = typer.Typer(no_args_is_help=True, add_completion=False, help="Write flows: check, draw, publish, compare and try them.")
Json = Annotated[bool, typer.Option("--json", help=AS_JSON)]
Language = Annotated[ops.Language, typer.Option(help="The language in which people are told.")]


@app.callback()
def group() -> None:
    """Write flows: check, draw, publish, compare and try them."""
    hide_log_lines()


def load_translator(language: ops.Language) -> "Translator":
    """Return the translator into the language of an option."""
    from bot.i18n.translate import Translator  # noqa: PLC0415 - help needs none of it, see bot.cli.ops

    return Translator(language, "Europe/Moscow")


@app.command()
def validate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Flows and agents as YAML or JSON, or folders of them.")],
    *,
    language: Language = "ru",
    as_json: Json = False,
) -> None:
    """Check flows and agents and say all mistakes at once, each with its place.

    An agent that a step names is a file beside the flow, such as writer.yaml, or it is looked up among the published ones. Without a
    database it is not, and that is said. Exit codes: 0 = no mistakes, 1 = mistakes, 2 = wrong use.
    """
    from bot.cli.definition_files import expand_paths  # noqa: PLC0415 - see load_translator
    from bot.cli.flow.files import check_path, is_wrong, open_agent_store  # noqa: PLC0415 - see load_translator

    tr, has_mistakes = load_translator(language), False
    waiting = list(expand_paths(files))
    with open_agent_store() as store:
        for path in waiting:  # grows by the agents that flows name
            checked = check_path(path, store)
            waiting += [one for one in checked.agent_files if one not in waiting]
            has_mistakes |= is_wrong(checked)
            if as_json:
                write_json_lines(_list_rows(checked, store))
            else:
                _write_checked(checked, tr)
                _write_not_looked_up(checked, store, tr)
    if has_mistakes:
        raise typer.Exit(NOT_DONE)


def _list_rows(checked: "CheckedFile", store: "AgentStore") -> list[dict[str, object]]:
    rows = [{"file": str(checked.path), **one.to_json()} for one in checked.findings]
    agents = list(checked.not_looked_up)
    return [*rows, *([{"file": str(checked.path), "agents_not_looked_up": agents, "why": store.why_not}] if agents else [])]


def _write_checked(checked: "CheckedFile", tr: "Translator") -> None:
    """Write what is wrong with a file, with the sentence about it as heading."""
    from bot.cli.flow.files import describe_file  # noqa: PLC0415 - see load_translator

    typer.echo(escape_text(f"{checked.path}: {describe_file(checked, tr)}"))
    rows = [
        (
            f"{one.line}:{one.column}" if one.line else "—",
            tr.translate("flow-cli-severity", severity=one.severity),
            one.path,
            tr.translate_notice(one.notice),
            one.suggestion and f"{one.suggestion}?",
        )
        for one in checked.findings
    ]
    if rows:
        write_table([tr.translate("flow-cli-column", column=name) for name in ("line", "severity", "where", "what", "meant")], rows)


def _write_not_looked_up(checked: "CheckedFile", store: "AgentStore", tr: "Translator") -> None:
    if checked.not_looked_up:
        told = tr.translate("flow-cli-not-looked-up", agents=", ".join(checked.not_looked_up), count=len(checked.not_looked_up))
        typer.echo(escape_text(f"  {told} ({store.why_not})"))


@app.command()
def publish(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A flow as YAML or JSON.")],
    *,
    agent: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="An agent to publish before it; may be given again.")] = None,
    note: Annotated[str, typer.Option(help="What has changed and why, for the history.")] = "",
    language: Language = "ru",
    as_json: Json = False,
) -> None:
    """Save a flow with its agents and publish it in one go. Nothing is saved if anything is wrong with any of the files.

    What deletes, moves money or writes to people outside is published by a second person: it stays a draft, and the flow that names it
    is not saved. Exit codes: 0 = published, 1 = refused, or a second person is needed, 2 = wrong use.
    """
    from bot.cli.flow.files import is_wrong  # noqa: PLC0415 - see load_translator
    from bot.cli.flow.publishing import publish_flow  # noqa: PLC0415 - see load_translator

    tr = load_translator(language)
    done = publish_flow(file, agent or [], note=note)
    if as_json:
        write_json_lines([{"file": str(one.path), **finding.to_json()} for one in done.checked for finding in one.findings])
        write_json_lines([{"kind": one.kind, "key": one.key, "version": one.version, "became": one.became} for one in done.handled])
    else:
        for one in done.checked:
            if one.findings:
                _write_checked(one, tr)
        for handled in done.handled:
            typer.echo(escape_text(_describe_handled(handled, tr)))
        if any(is_wrong(one) for one in done.checked):
            typer.echo(tr.translate("flow-cli-refused"), err=True)
        elif not done.is_done:
            typer.echo(tr.translate("flow-cli-waits"), err=True)
    if not done.is_done:
        raise typer.Exit(NOT_DONE)


def _describe_handled(one: "Handled", tr: "Translator") -> str:
    methods = ", ".join(one.critical or ()) or "—"
    code = {"published": "flow-cli-published", "unchanged": "flow-cli-unchanged", "waits": "flow-cli-draft"}[one.became]
    return tr.translate(code, kind=one.kind, key=one.key, number=one.version, methods=methods)


@app.command()
def diff(
    key: Annotated[str, typer.Argument(help="The key of a flow.")],
    before: Annotated[int, typer.Argument(metavar="V1", min=1, help="The version from which.")],
    after: Annotated[int, typer.Argument(metavar="V2", min=1, help="The version to which.")],
    *,
    language: Language = "ru",
    as_json: Json = False,
) -> None:
    """Show what changed between two versions of a flow. Exit codes: 0 = shown, also if nothing changed, 2 = no such version."""
    from bot.cli.definition_desk import open_desk  # noqa: PLC0415 - see load_translator
    from bot.cli.definition_files import load_engines  # noqa: PLC0415 - see load_translator
    from bot.cli.definitions import list_change_cells, list_change_rows  # noqa: PLC0415 - see load_translator
    from orchestrator.engines.flows.kind import FLOW  # noqa: PLC0415 - see load_translator

    tr = load_translator(language)
    with open_desk(load_engines(), reads=True) as desk:
        found = desk.call(desk.service.compare(desk.editor, FLOW, key, before, after))
        names = desk.call(desk.service.name_versions(found))
    if as_json:
        write_json_lines(list_change_rows(found.changes))
        return
    if not found.changes:
        typer.echo(tr.translate("flow-cli-diff-none"))
        return
    rows = [
        (where, tr.translate("flow-cli-diff-kind", kind=kind), *values) for where, kind, *values in list_change_cells(found.changes, names)
    ]
    versions = (tr.translate("flow-cli-diff-version", number=number) for number in (before, after))
    write_table([*(tr.translate("flow-cli-column", column=name) for name in ("where", "what")), *versions], rows)
    if found.more:
        typer.echo(tr.translate("flow-cli-diff-more", count=len(found.changes)), err=True)


@app.command()
def graph(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A flow as YAML or JSON.")],
    *,
    svg: Annotated[Path | None, typer.Option(metavar="OUT", help="Write a picture to this file in place of Mermaid to stdout.")] = None,
    language: Language = "ru",
) -> None:
    """Draw where a flow goes, also one with mistakes. Exit codes: 0 = drawn, 2 = wrong use, or it cannot be read or drawn.

    Failures are drawn dashed and red, what steps leave in channels of memory and read there is drawn thin and green.
    """
    from bot.cli.definition_files import read_file  # noqa: PLC0415 - see load_translator
    from orchestrator.charts.chart import write_mermaid  # noqa: PLC0415 - see load_translator
    from orchestrator.charts.layout import ChartTooLarge  # noqa: PLC0415 - see load_translator
    from orchestrator.charts.svg import write_svg  # noqa: PLC0415 - see load_translator
    from orchestrator.engines.flows.chart import build_chart  # noqa: PLC0415 - see load_translator

    reading = read_file(file)
    if reading.draft is None:
        raise SettingsError(escape_text(f"{file}: {'; '.join(map(str, reading.findings[:3]))}"))
    chart = build_chart(reading.draft.data)
    if svg is None:
        sys.stdout.write(write_mermaid(chart))
        return
    try:
        svg.write_text(write_svg(chart), encoding="utf-8")
    except ChartTooLarge as error:
        raise SettingsError(str(error)) from None
    except OSError as error:
        raise SettingsError(escape_text(f"{svg}: cannot be written ({error.strerror})")) from None
    typer.echo(escape_text(load_translator(language).translate("flow-cli-drawn", file=str(svg), count=len(chart.boxes))))


@app.command()
def run(
    flow: Annotated[str, typer.Argument(metavar="FILE|KEY", help="A file of a flow, or the key of a published one.")],
    *,
    param: Annotated[list[str] | None, typer.Option(help="A launch parameter such as client=Romashka; may be given again.")] = None,
    answers: Annotated[Path | None, typer.Option(metavar="FILE", help="A YAML file of agents' answers by step; no model is asked.")] = None,
    version: Annotated[int, typer.Option(min=0, help="A version of the published flow; by default the active one.")] = 0,
    language: Language = "ru",
    as_json: Annotated[bool, typer.Option("--json", help="One event a line as JSON.")] = False,
) -> None:
    """Try a flow in this terminal. The models of the settings are asked, which costs; nothing else is sent, and nothing is stored.

    Launch parameters that are not given are asked for one by one. Effects are shown as the plans that they are. Exit codes: 0 = it ended
    well, 1 = it failed, did not end, or has mistakes, 2 = wrong use.
    """
    from bot.cli.flow.asking import collect_parameters, split_parameters  # noqa: PLC0415 - see load_translator
    from bot.cli.flow.files import open_agent_store  # noqa: PLC0415 - see load_translator
    from bot.cli.flow.loading import load_flow  # noqa: PLC0415 - see load_translator
    from bot.cli.flow.showing import PeopleWatcher, ProgramWatcher  # noqa: PLC0415 - see load_translator
    from bot.cli.flow.trying import load_answers, play_flow  # noqa: PLC0415 - see load_translator

    tr = load_translator(language)
    with open_agent_store() as store:
        loaded = load_flow(flow, version, store)
        if loaded.flow is None:
            for one in loaded.checked:
                if one.findings:
                    _write_checked(one, tr)
            raise typer.Exit(NOT_DONE)
        script = load_answers(answers, [step.id for step in loaded.flow.flow.steps]) if answers is not None else None
        parameters = collect_parameters(loaded.flow.flow.launch_parameters, split_parameters(param or []), sys.stdin, tr)
        watcher = ProgramWatcher() if as_json else PeopleWatcher(tr)
        tried = play_flow(loaded.flow, parameters, script, watcher, store.desk)
    watcher.end(tried)
    if tried.problem or tried.result.status != "done":
        raise typer.Exit(NOT_DONE)


@app.command(name="test")
def play_tests(
    path: Annotated[Path, typer.Argument(metavar="FILE|DIR", help="A flow with NAME.test.yaml beside it, or a folder of them.")],
    *,
    as_json: Json = False,
) -> None:
    """Play the tests of flows, with the answers of their agents given, and show which steps and ways between them they cover.

    Exit codes: 0 = all came as expected, 1 = something differs, 2 = wrong use, or there are no tests.
    """
    from bot.cli.flow.testing import check_tests_of  # noqa: PLC0415 - see load_translator

    if not check_tests_of(path, as_json=as_json):
        raise typer.Exit(NOT_DONE)


@app.command()
def record(
    run_id: Annotated[str, typer.Argument(metavar="RUN_ID", help="The run's id, or a part of it that only one run has.")],
    *,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The new file, such as NAME.test.yaml beside the flow.")],
) -> None:
    """Save a finished run as a test. What the person and the agents said stands in it: replace what must not be read by others.

    Exit codes: 0 = written, 1 = the run cannot be played again, 2 = wrong use, there is no such run, or the file is there already.
    """
    from bot.cli.flow.recording import record_run  # noqa: PLC0415 - see load_translator
    from orchestrator.rehearsals.recording import NotRecordable  # noqa: PLC0415 - see load_translator

    try:
        key = record_run(run_id, out)
    except NotRecordable as error:
        typer.echo(escape_text(f"Not recorded: {error}."), err=True)
        raise typer.Exit(NOT_DONE) from None
    typer.echo(escape_text(f"{out}: a test of {key}. Put it beside the flow as NAME.test.yaml, and play it with `sdelka flow test`."))
