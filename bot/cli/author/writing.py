"""Checks, draws, compares and begins definitions, and publishes one with its parts only if nothing is wrong with any."""

import contextlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal

import typer

from bot.cli.author.faces import Family, find_family, refuse_missing
from bot.cli.author.files import (
    SUFFIXES,
    TEST,
    CheckedFile,
    PartStore,
    check_one,
    check_path,
    describe_file,
    expand_paths,
    find_key,
    find_part_files,
    get_key,
    link_parts,
    open_part_store,
    read_data,
    read_file,
)
from bot.cli.definition_desk import DefinitionDesk, check_file, load_engines, open_desk, write_findings
from bot.cli.inputs import read_input
from bot.cli.ops import escape_text, write_json_lines, write_table
from bot.i18n.translate import Translator
from bot.plugins.building import load_installed_engines
from bot.plugins.definition_text import write_ordered
from bot.plugins.kind_face import KIND_FACE
from bot.plugins.loading import find_part_of_kind, list_kinds
from orchestrator.charts.chart import write_mermaid
from orchestrator.charts.layout import ChartTooLarge
from orchestrator.charts.svg import write_svg
from orchestrator.definitions.checking import Submission
from orchestrator.definitions.reader import Change
from orchestrator.definitions.rules import NotAllowed, find_key_mistake
from orchestrator.documents.reading import read_document
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.finding import format_path, has_errors
from orchestrator.runs.registry import Engines
from state.canonical import dumps
from state.model.definitions import DefinitionMissing, DefinitionVersion

Became = Literal["published", "unchanged", "waits"]
"""`waits` for another person, who has to publish it."""
_TWO_PEOPLE: Final = frozenset({"needs_a_person", "needs_two_people"})


@dataclass(frozen=True, kw_only=True)
class Handled:
    kind: str
    key: str
    version: int
    became: Became
    critical: tuple[str, ...] | None
    """Methods that need two people; None if they cannot be told."""


@dataclass(frozen=True, kw_only=True)
class Publication:
    """With mistakes nothing was stored."""

    checked: Sequence[CheckedFile]
    handled: Sequence[Handled] = ()

    is_done: bool = False


def publish_files(kind: str, path: Path, parts: Sequence[Path], *, note: str) -> Publication:
    """Parts first, without those of the same text. Nothing if any file is wrong, no whole while a part waits. Raises SettingsError."""
    family = find_family(kind)
    keys = [find_key(family.part_key_field, file, read_data(file)) for file in parts]
    for key in keys:
        if find_key_mistake(key) is not None or keys.count(key) > 1:
            raise SettingsError(escape_text(f"--{family.part}: {key} is no key, or given twice"))
    checked = [*(check_one(Family(whole=family.part), file) for file in parts), check_one(family, path)]
    documents = {key: checked_file.document for key, checked_file in zip(keys, checked, strict=False)}
    with open_desk(load_engines()) as desk:
        checked[-1] = link_parts(family, checked[-1], PartStore(desk=desk), documents, knows_files=False)
        if any(file.is_wrong for file in checked):
            return Publication(checked=checked)
        handled = [_publish(desk, checked_file, key, note, is_part=True) for key, checked_file in zip(keys, checked, strict=False)]
        if any(one.became == "waits" for one in handled):
            return Publication(checked=checked, handled=handled)
        whole = _publish(desk, checked[-1], find_key(family.key_field, path, checked[-1].document), note, is_part=False)
    return Publication(checked=checked, handled=[*handled, whole], is_done=whole.became == "published")


def _publish(desk: DefinitionDesk, file: CheckedFile, key: str, note: str, *, is_part: bool) -> Handled:
    tell = partial(Handled, kind=file.kind, key=key, critical=file.critical)
    draft = None
    if is_part:
        active, last = desk.call(_find_versions(desk, file.kind, key))
        if active is not None and dumps(active.document) == dumps(file.document):
            return tell(version=active.version, became="unchanged")
        draft = last if last is not None and last.status == "draft" and dumps(last.document) == dumps(file.document) else None
    if draft is None:
        reading = read_file(file.path)
        submission = Submission(read=lambda: reading, note=note)
        draft = desk.call(desk.service.create(desk.editor, file.kind, key, submission, origin="imported")).version
    return tell(version=draft.version, became=desk.call(_try_to_publish(desk, draft, note)))


async def _find_versions(desk: DefinitionDesk, kind: str, key: str) -> tuple[DefinitionVersion | None, DefinitionVersion | None]:
    try:
        head = await desk.service.find_key(desk.editor, kind, key)
    except DefinitionMissing:
        return None, None
    last = await desk.service.find_version(desk.editor, kind, key)
    active = await desk.service.find_version(desk.editor, kind, key, head.active_version) if head.active_version else None
    return active, last


async def _try_to_publish(desk: DefinitionDesk, draft: DefinitionVersion, note: str) -> Became:
    try:
        await desk.service.publish(desk.editor, draft.kind, draft.key, draft.version, expected=draft.revision, note=note)
    except NotAllowed as error:
        if error.code not in _TWO_PEOPLE:
            raise
        return "waits"
    return "published"


_LONGEST: Final = 200


def check_files(kind: str, files: list[Path], tr: Translator, *, as_json: bool, write: Callable[[CheckedFile], None] | None = None) -> bool:
    """Returns whether nothing is wrong; `write` replaces `write_checked` for people. Raises SettingsError."""
    family, is_right = find_family(kind), True
    waiting = list(expand_paths(files))
    with open_part_store() if family.part else contextlib.nullcontext(PartStore(desk=None)) as store:
        for path in waiting:  # grows by the parts that are named
            checked = check_path(family, path, store)
            waiting += [part_file for part_file in checked.part_files if part_file not in waiting]
            is_right &= not checked.is_wrong
            if as_json:
                write_json_lines(_list_rows(family, checked, store))
            else:
                (write or partial(write_checked, tr=tr))(checked)
                _write_not_looked_up(family, checked, store, tr)
    return is_right


def _list_rows(family: Family, checked: CheckedFile, store: PartStore) -> list[dict[str, object]]:
    rows = _list_findings(checked)
    if parts := list(checked.not_looked_up):
        rows.append({"file": str(checked.path), f"{family.folder}_not_looked_up": parts, "why": store.why_not})
    return rows


def _list_findings(checked: CheckedFile) -> list[dict[str, object]]:
    return [{"file": str(checked.path), **finding.to_json()} for finding in checked.findings]


def write_checked(checked: CheckedFile, tr: Translator, *, as_json: bool = False) -> None:
    """For people with a heading, for programs an object a line."""
    if as_json:
        write_json_lines(_list_findings(checked))
        return
    typer.echo(escape_text(f"{checked.path}: {describe_file(checked, tr)}"))
    rows = [
        (
            f"{finding.line}:{finding.column}" if finding.line else "—",
            tr.translate("author-severity", severity=finding.severity),
            finding.path,
            tr.translate_notice(finding.notice),
            finding.suggestion and f"{finding.suggestion}?",
        )
        for finding in checked.findings
    ]
    if rows:
        write_table([tr.translate("author-column", column=name) for name in ("line", "severity", "where", "what", "meant")], rows)


def show_checked(load_engines: Callable[[], Engines] | None, kind: str, file: str, *, as_json: bool) -> None:
    """Exits with code 1 if it could not be saved; needs no database. Raises SettingsError."""
    reading = read_document(read_input(file), SUFFIXES.get(Path(file).suffix.lower(), "auto"))
    checked = check_file((load_engines or load_installed_engines)(), kind, Submission(read=lambda: reading))
    is_wrong = has_errors(checked.findings)
    if as_json:
        write_json_lines([finding.to_json() for finding in checked.findings])
    else:
        write_findings(checked.findings)
        if not is_wrong:
            typer.echo(escape_text(describe_need(checked.critical)))
    if is_wrong:
        raise typer.Exit(1)


def write_checked_in_english(checked: CheckedFile, mistakes: Translator | None) -> None:
    """Mistakes are in their language."""
    count = sum(finding.severity == "error" for finding in checked.findings)
    sentence = f"{count} mistake{'' if count == 1 else 's'}." if count else describe_need(checked.critical)
    typer.echo(escape_text(f"{checked.path}: {sentence}"))
    write_findings(checked.findings, lambda finding: mistakes.translate_notice(finding.notice) if mistakes else finding.message)


def _write_not_looked_up(family: Family, checked: CheckedFile, store: PartStore, tr: Translator) -> None:
    if checked.not_looked_up:
        names, count = ", ".join(checked.not_looked_up), len(checked.not_looked_up)
        notice = tr.translate("author-not-looked-up", kind=family.part, agents=names, count=count)
        typer.echo(escape_text(f"  {notice} ({store.why_not})"))


def write_publication(done: Publication, tr: Translator, *, as_json: bool) -> None:
    if as_json:
        write_json_lines([row for checked_file in done.checked for row in _list_findings(checked_file)])
        write_json_lines([{"kind": one.kind, "key": one.key, "version": one.version, "became": one.became} for one in done.handled])
        return
    for checked_file in done.checked:
        if checked_file.findings:
            write_checked(checked_file, tr)
    for handled in done.handled:
        typer.echo(escape_text(_describe_handled(handled, tr)))
    if any(file.is_wrong for file in done.checked):
        typer.echo(tr.translate("author-refused"), err=True)
    elif not done.is_done:
        typer.echo(tr.translate("author-waits"), err=True)


def _describe_handled(handled: Handled, tr: Translator) -> str:
    methods = ", ".join(handled.critical or ()) or "—"
    code = {"published": "author-published", "unchanged": "author-unchanged", "waits": "author-draft"}[handled.became]
    return tr.translate(code, kind=handled.kind, key=handled.key, number=handled.version, methods=methods)


def write_difference(kind: str, key: str, versions: tuple[int, int], tr: Translator, *, as_json: bool) -> None:
    """Raises SettingsError."""
    with open_desk(load_installed_engines(), reads=True) as desk:
        comparison = desk.call(desk.service.compare(desk.editor, kind, key, *versions))
        names = desk.call(desk.service.name_versions(comparison))
    if as_json:
        write_json_lines(_list_change_rows(comparison.changes))
        return
    if not comparison.changes:
        is_same = comparison.before.source == comparison.after.source
        typer.echo(tr.translate("author-diff-none" if is_same else "author-diff-text"))
        return
    rows = [
        (where, tr.translate("author-diff-kind", kind=change), *values)
        for where, change, *values in _list_change_cells(comparison.changes, names)
    ]
    numbers = (tr.translate("author-diff-version", number=number) for number in versions)
    write_table([*(tr.translate("author-column", column=name) for name in ("where", "what")), *numbers], rows)
    if comparison.more:
        typer.echo(tr.translate("author-diff-more", count=len(comparison.changes)), err=True)


def draw_file(kind: str, file: Path, svg: Path | None, describe: Callable[[Path, int], str]) -> None:
    """As Mermaid to stdout, or to the file `svg`; also with mistakes. Raises SettingsError."""
    face, family = find_part_of_kind(KIND_FACE, kind), find_family(kind)
    if face is None or face.steps is None:
        faces = {other: find_part_of_kind(KIND_FACE, other) for other in list_kinds()}
        drawn = [other for other, offered in faces.items() if offered is not None and offered.steps is not None]
        raise SettingsError(f"definitions of the kind {kind} have no picture; these do: {', '.join(drawn) or 'none'}")
    reading = read_file(file)
    if reading.draft is None:
        raise SettingsError(escape_text(f"{file}: {'; '.join(map(str, reading.findings[:3]))}"))
    document = reading.draft.data
    names = dict.fromkeys(part.written for part in family.list_parts(document))
    parts = {name: read_data(path) for name, path in find_part_files(family, file, names).items()}
    chart = face.steps.draw(document, parts)
    if svg is None:
        sys.stdout.write(write_mermaid(chart))
        return
    try:
        svg.write_text(write_svg(chart), encoding="utf-8")
    except ChartTooLarge as error:
        raise SettingsError(str(error)) from None
    except OSError as error:
        raise SettingsError(escape_text(f"{svg}: cannot be written ({error.strerror})")) from None
    typer.echo(escape_text(describe(svg, len(chart.boxes))))


def write_first(kind: str, file: Path, tr: Translator) -> None:
    """Raises SettingsError if the file is there."""
    form = SUFFIXES.get(file.suffix.lower())
    key = get_key(file)
    if form is None or find_key_mistake(key) is not None or key.endswith(TEST):
        raise SettingsError(
            escape_text(
                f"{file}: a name such as first.yaml is needed: Latin letters, digits, _ and -, which is the key, and .yaml, .yml or .json"
            )
        )
    face = find_part_of_kind(KIND_FACE, kind)
    if face is None:
        raise refuse_missing(kind, "cannot be begun here", KIND_FACE)
    document, key_field = face.begin(tr.translate), load_installed_engines().kinds[kind].key_field
    text = write_ordered(kind, {**document, **({key_field: key} if key_field else {})}, form)
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(text)
    except FileExistsError:
        raise SettingsError(escape_text(f"{file} is there already, and is not overwritten")) from None
    except OSError as error:
        raise SettingsError(escape_text(f"{file}: cannot be written ({error.strerror})")) from None
    write_checked(check_one(find_family(kind), file), tr)


def _list_change_rows(changes: Iterable[Change]) -> list[dict[str, object]]:
    return [{"kind": change.kind, "path": format_path(change.path), "before": change.before, "after": change.after} for change in changes]


def _list_change_cells(changes: Iterable[Change], names: Mapping[str, str]) -> list[tuple[str, str, str, str]]:
    """(where, what, before, after); long values are cut, `names` replaces ids of versions."""
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
    if critical == ():
        return "No mistakes."
    why = f"because of {', '.join(critical)}" if critical else "because it cannot be told what it writes"
    return f"No mistakes. It needs two people, {why}: whoever wrote it may not publish it."


def _format_value(value: object, names: Mapping[str, str]) -> str:
    text = dumps(value)
    for version_id, name in names.items():
        text = text.replace(dumps(version_id), dumps(name))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
