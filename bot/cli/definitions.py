"""The command group `sdelka definitions`: list, show, check, save, compare, publish, roll back, switch and export definitions.

A definition is what an engine executes: a scenario, flow or workflow. The commands work with the database, also beside a running bot, which
executes what is published from then on.
"""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from bot.cli.inputs import format_time
from bot.cli.ops import AS_JSON, escape_text, write_json_lines, write_table
from orchestrator.domain.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from bot.cli.definition_desk import DefinitionDesk
    from orchestrator.definitions.changes import Change
    from orchestrator.definitions.checking import Submission
    from orchestrator.definitions.service import Saved
    from orchestrator.domain.finding import Finding
    from orchestrator.runs.registry import Engines
    from state.model.definitions import DefinitionKey, DefinitionVersion

NOT_DONE: Final = 1
_LONGEST_CELL: Final = 200
_LISTED: Final = 1000
_EXIT_CODES = "Exit codes: 0 = done, 1 = refused, nothing was changed, 2 = wrong use, no such definition, or the database cannot be used."
_Kind = Annotated[str, typer.Argument(help="The kind of definitions, which is that of an engine.")]
_Key = Annotated[str, typer.Argument(help="The key of the definition.")]
_Version = Annotated[int, typer.Argument(min=1, help="The number of a version.")]
_File = Annotated[str, typer.Argument(metavar="FILE", help="A YAML or JSON file; - for standard input.")]
_Json = Annotated[bool, typer.Option("--json", help=AS_JSON)]
_Note = Annotated[str, typer.Option(help="What has changed and why, for the history.")]


class _Format(StrEnum):
    """The formats that the option `--format` accepts."""

    YAML = "yaml"
    JSON = "json"


def build_app(load_engines: "Callable[[], Engines]") -> typer.Typer:
    """Return the command group for the kinds of definitions of these engines, which are loaded when a command runs."""
    app = typer.Typer(no_args_is_help=True, add_completion=False, help="List, save, compare, publish and switch definitions.")

    @app.callback()
    def group() -> None:
        """List, save, compare, publish and switch definitions: scenarios, flows and workflows, which runs execute."""

    for add in (_add_lists, _add_reading, _add_comparison, _add_saving, _add_publishing):
        add(app, load_engines)
    return app


def _load_shipped_engines() -> "Engines":
    from bot.plugins.building import load_installed_engines  # noqa: PLC0415 - help needs none of it, see bot.cli.ops

    return load_installed_engines()


def _open_desk(load_engines: "Callable[[], Engines]", *, reads: bool = False) -> "AbstractContextManager[DefinitionDesk]":
    from bot.cli.definition_desk import open_desk  # noqa: PLC0415 - see _load_shipped_engines

    return open_desk(load_engines(), reads=reads)


def _add_lists(app: typer.Typer, load_engines: "Callable[[], Engines]") -> None:
    @app.command(name="list")
    def list_(
        *,
        kind: Annotated[str, typer.Option(help="Only of this kind.")] = "",
        as_json: _Json = False,
    ) -> None:
        """List the definitions in the order of kinds and keys. Exit codes: 0 = listed, 2 = wrong use, or the database cannot be read."""
        engines = load_engines()
        if not engines.kinds:
            typer.echo("This program has no engine whose definitions are stored; one that has offers this command for its own.", err=True)
        with _open_desk(lambda: engines, reads=True) as desk:
            found: list[DefinitionKey] = []
            while page := desk.call(desk.service.list_keys(desk.editor, kind, after=found[-1].place if found else "", limit=_LISTED)):
                found += page
        if as_json:
            write_json_lines([_to_json(definition_key) for definition_key in found])
            return
        _write_heads(found)

    @app.command()
    def show(kind: _Kind, key: _Key, *, as_json: _Json = False) -> None:
        """Show one definition and its versions. Exit codes: 0 = shown, 2 = no such definition, or the database cannot be read."""
        with _open_desk(load_engines, reads=True) as desk:
            head = desk.call(desk.service.find_key(desk.editor, kind, key))
            versions = desk.call(desk.service.list_versions(desk.editor, kind, key))
        if as_json:
            write_json_lines([{**_to_json(head), "versions": [_to_json(version) for version in versions]}])
            return
        _write_head(head)
        _write_versions(versions)


def _write_heads(found: "Sequence[DefinitionKey]") -> None:
    rows = [
        (
            definition_key.kind,
            definition_key.key,
            definition_key.title,
            "on" if definition_key.enabled else "off",
            definition_key.active_version or "—",
            f"{definition_key.last_version}{' (draft)' if definition_key.has_draft else ''}",
            format_time(definition_key.updated_at),
            definition_key.updated_by,
        )
        for definition_key in found
    ]
    write_table(("kind", "key", "title", "switch", "active", "last version", "when", "by"), rows)


def _write_head(head: "DefinitionKey") -> None:
    told = {
        "definition": f"{head.kind}/{head.key}",
        "title": head.title,
        "switch": "on" if head.enabled else "off: no new run begins",
        "active version": head.active_version or "none is published",
        "changed": f"{format_time(head.updated_at)} by {head.updated_by}",
    }
    write_table(("what", "is"), list(told.items()))


def _write_versions(versions: "Sequence[DefinitionVersion]") -> None:
    rows = [
        (
            definition_version.version,
            f"{definition_version.status}, active" if definition_version.active else definition_version.status,
            definition_version.revision,
            format_time(definition_version.updated_at),
            ", ".join(writer.key for writer in definition_version.writers),
            definition_version.published_by,
            definition_version.note,
        )
        for definition_version in versions
    ]
    write_table(("#", "status", "revision", "when", "written by", "published by", "note"), rows, title="versions")


def _add_reading(app: typer.Typer, load_engines: "Callable[[], Engines]") -> None:
    @app.command()
    def history(
        kind: _Kind, key: _Key, last: Annotated[int, typer.Option(min=1, max=1000, help="So many entries.")] = 50, *, as_json: _Json = False
    ) -> None:
        """Show what was done with a definition, the newest first. Exit codes: 0 = shown, 2 = no such definition."""
        with _open_desk(load_engines, reads=True) as desk:
            entries = desk.call(desk.service.list_history(desk.editor, kind, key, limit=last))
        if as_json:
            write_json_lines([_to_json(history_entry) for history_entry in entries])
            return
        rows = [(format_time(one.at), one.what.replace("_", " "), one.version or "—", one.by_name, one.by, one.note) for one in entries]
        write_table(("when", "what", "version", "who", "account", "note"), rows)

    @app.command()
    def export(
        kind: _Kind,
        key: _Key,
        *,
        version: Annotated[int, typer.Option(min=0, help="A version; by default the active one, without one the last.")] = 0,
        form: Annotated[_Format, typer.Option("--format", help="The format of the text.")] = _Format.YAML,
    ) -> None:
        """Write a definition to standard output as the text of a file, from which `save` makes an equal one.

        Exit codes: 0 = written, 2 = no such definition, or the database cannot be read.
        """
        from orchestrator.documents.writing import write_document  # noqa: PLC0415 - see _load_shipped_engines

        with _open_desk(load_engines, reads=True) as desk:
            number = version or desk.call(desk.service.find_key(desk.editor, kind, key)).active_version
            definition_version = desk.call(desk.service.find_version(desk.editor, kind, key, number))
        text = write_document(definition_version.document, form.value)
        sys.stdout.write(escape_text(text) if sys.stdout.isatty() else text)


def _add_comparison(app: typer.Typer, load_engines: "Callable[[], Engines]") -> None:
    @app.command()
    def diff(
        kind: _Kind,
        key: _Key,
        before: Annotated[int, typer.Argument(min=1, help="The version from which.")],
        after: Annotated[int, typer.Argument(min=1, help="The version to which.")],
        *,
        as_json: _Json = False,
    ) -> None:
        """Show what changed between two versions, as data. Exit codes: 0 = shown, also if nothing changed, 2 = no such version."""
        with _open_desk(load_engines, reads=True) as desk:
            comparison = desk.call(desk.service.compare(desk.editor, kind, key, before, after))
            names = desk.call(desk.service.name_versions(comparison))
        if as_json:
            write_json_lines(list_change_rows(comparison.changes))
            return
        if not comparison.changes:
            typer.echo("Nothing changed.")
            return
        write_table(("where", "what", f"version {before}", f"version {after}"), list_change_cells(comparison.changes, names))
        if comparison.more:
            typer.echo(f"Only the first {len(comparison.changes)} differences are shown.", err=True)

    @app.command()
    def check(kind: _Kind, file: _File, *, as_json: _Json = False) -> None:
        """Show everything that is wrong with a file, without storing it.

        Exit codes: 0 = it can be saved, 1 = it has mistakes, 2 = wrong use, or the file cannot be read.
        """
        from bot.cli.definition_desk import check_file  # noqa: PLC0415 - see _load_shipped_engines
        from orchestrator.domain.finding import has_errors  # noqa: PLC0415 - see _load_shipped_engines

        submission = _read_file(file)
        found = check_file(load_engines(), kind, submission)
        wrong = has_errors(found.findings)
        if as_json:
            write_json_lines([finding.to_json() for finding in found.findings])
        else:
            _write_findings(found.findings)
            if not wrong:
                typer.echo(escape_text(describe_need(found.critical)))
        if wrong:
            raise typer.Exit(NOT_DONE)


def _add_saving(app: typer.Typer, load_engines: "Callable[[], Engines]") -> None:
    @app.command(epilog=_EXIT_CODES)
    def save(  # noqa: PLR0913 - one parameter for each option of the command
        context: typer.Context,
        kind: _Kind,
        key: _Key,
        file: _File,
        *,
        title: Annotated[str | None, typer.Option(help="What people call it; by default as the version before.")] = None,
        note: _Note = "",
        version: Annotated[int, typer.Option(min=0, help="Replace the text of this draft; by default a new version is made.")] = 0,
        revision: Annotated[int, typer.Option(min=0, help="The revision of the draft that you saw; `show` has it.")] = 0,
        as_json: _Json = False,
    ) -> None:
        """Store a file as a new version of a definition, a draft, or with --version and --revision in place of a draft's text."""
        if bool(version) != bool(revision):
            raise SettingsError("--version and --revision belong together: `show` has both")
        submission = _read_file(file, title=title, note=note)
        with _open_desk(load_engines) as desk:
            if version:
                saved = desk.call(desk.service.save(desk.editor, kind, key, version, submission, expected=revision))
            else:
                saved = desk.call(desk.service.create(desk.editor, kind, key, submission, origin="imported"))
        _tell_saved(saved, context, as_json=as_json)

    @app.command(epilog=_EXIT_CODES)
    def rollback(context: typer.Context, kind: _Kind, key: _Key, version: _Version, *, note: _Note = "", as_json: _Json = False) -> None:
        """Make a new version, a draft, with the text of an earlier one; publish it to have it executed again."""
        with _open_desk(load_engines) as desk:
            saved = desk.call(desk.service.roll_back(desk.editor, kind, key, version, note=note))
        _tell_saved(saved, context, as_json=as_json)


def _add_publishing(app: typer.Typer, load_engines: "Callable[[], Engines]") -> None:
    @app.command(epilog=_EXIT_CODES)
    def publish(
        kind: _Kind,
        key: _Key,
        version: _Version,
        *,
        revision: Annotated[int, typer.Option(min=1, help="The revision of the version that you saw; `show` has it.")],
        note: _Note = "",
        as_json: _Json = False,
    ) -> None:
        """Let new runs execute this version. What deletes, moves money or writes to people outside is published by an employee only."""
        with _open_desk(load_engines) as desk:
            saved = desk.call(desk.service.publish(desk.editor, kind, key, version, expected=revision, note=note))
        if as_json:
            write_json_lines([_to_json(saved.version)])
            return
        _write_findings(saved.findings)
        typer.echo(f"New runs execute version {saved.version.version} of {kind}/{key} from now on; runs under way go on as they began.")

    _add_switch(app, "off", "Refuse new runs of a definition, also as parts of other runs; runs under way go on.", load_engines)
    _add_switch(app, "on", "Allow new runs of a definition again.", load_engines)


def _add_switch(app: typer.Typer, name: str, what: str, load_engines: "Callable[[], Engines]") -> None:
    @app.command(name=name, help=what, epilog=_EXIT_CODES)
    def switch(context: typer.Context, kind: _Kind, key: _Key, *, note: _Note = "", as_json: _Json = False) -> None:
        with _open_desk(load_engines) as desk:
            head = desk.switch(kind, key, enabled=name == "on", note=note)
        if as_json:
            write_json_lines([_to_json(head)])
        elif name == "off":
            typer.echo(f"{kind}/{key} is off: no new run begins. `{_find_program(context)} on {kind} {key}` allows it again.")
        else:
            active = f"New runs execute version {head.active_version}." if head.active_version else "No version is published yet."
            typer.echo(f"{kind}/{key} is on. {active}")


def _read_file(name: str, *, title: str | None = None, note: str = "") -> "Submission":
    """Return the file as what is handed in; at most a byte more than may be read is kept. Raises SettingsError."""
    from functools import partial  # noqa: PLC0415 - see _load_shipped_engines

    from orchestrator.definitions.checking import Submission  # noqa: PLC0415 - see _load_shipped_engines
    from orchestrator.documents.reading import MAX_BYTES, read_document  # noqa: PLC0415 - see _load_shipped_engines

    try:
        if name == "-":
            text = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                text = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise SettingsError(escape_text(f"{name}: cannot be read ({getattr(error, 'strerror', None) or error})")) from None
    form = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}.get(Path(name).suffix.lower(), "auto")
    return Submission(read=partial(read_document, text, form), title=title, note=note)  # type: ignore[arg-type]


def list_change_rows(changes: "Iterable[Change]") -> list[dict[str, object]]:
    """Return the changes between two versions for programs."""
    from orchestrator.domain.finding import format_path  # noqa: PLC0415 - see _load_shipped_engines

    return [{"kind": change.kind, "path": format_path(change.path), "before": change.before, "after": change.after} for change in changes]


def list_change_cells(changes: "Iterable[Change]", names: "Mapping[str, str]") -> list[tuple[str, str, str, str]]:
    """Return (where, what, value before, value after) of each change, for people; long values are cut.

    `names` says what people call the versions of other definitions, in place of their ids.
    """
    from orchestrator.domain.finding import format_path  # noqa: PLC0415 - see _load_shipped_engines

    return [
        (
            format_path(change.path),
            change.kind,
            "" if change.kind == "added" else _format_value(change.before, names),
            "" if change.kind == "removed" else _format_value(change.after, names),
        )
        for change in changes
    ]


def describe_need(critical: tuple[str, ...] | None) -> str:
    """Return the sentence about a correct definition: who may publish it."""
    if critical == ():
        return "No mistakes."
    why = f"because of {', '.join(critical)}" if critical else "because it cannot be told what it writes"
    return f"No mistakes. It needs two people, {why}: whoever wrote it may not publish it."


def _find_program(context: typer.Context) -> str:
    """Return what the person typed before the command, such as "sdelka definitions"."""
    return context.find_root().info_name or "sdelka definitions"


def _tell_saved(saved: "Saved", context: typer.Context, *, as_json: bool) -> None:
    version = saved.version
    if as_json:
        write_json_lines([_to_json(version)])
        return
    _write_findings(saved.findings)
    place = f"{version.kind} {version.key} {version.version} --revision {version.revision}"
    typer.echo(
        f"Version {version.version} of {version.kind}/{version.key} is a draft. To publish it: {_find_program(context)} publish {place}"
    )


def _write_findings(findings: "Iterable[Finding]") -> None:
    from bot.cli.definition_desk import write_findings  # noqa: PLC0415 - see _load_shipped_engines

    write_findings(findings)


def _to_json(found: Any) -> dict[str, Any]:
    from dataclasses import asdict  # noqa: PLC0415 - see _load_shipped_engines

    return asdict(found)


def _format_value(value: object, names: "Mapping[str, str]") -> str:
    from state.canonical import dumps  # noqa: PLC0415 - see _load_shipped_engines

    text = dumps(value)
    for version_id, name in names.items():
        text = text.replace(dumps(version_id), dumps(name))
    return text if len(text) <= _LONGEST_CELL else f"{text[:_LONGEST_CELL]}…"


app = build_app(_load_shipped_engines)
