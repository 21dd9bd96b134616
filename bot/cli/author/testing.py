"""Plays the tests beside definitions, and saves finished runs of the journal as tests."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import typer

from bitrix.masking import hide_installed
from bot.cli.author.faces import Family, find_family, refuse_missing
from bot.cli.author.files import SUFFIXES, TEST, LoadedFile, get_key, list_files, load_file, read_file
from bot.cli.definition_desk import load_classes, write_findings
from bot.cli.inputs import find_run
from bot.cli.ops import escape_text, open_database_reader, write_json_lines
from bot.plugins.loading import find_part_of_kind
from bot.rehearsing.case_face import CASE_FACE, CaseFace, Recording, TakeRun
from bot.rehearsing.case_file import write_cases
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.finding import has_errors
from orchestrator.rehearsals.recorded_nodes import NotRecordable
from state.journal.async_store import AsyncStore

_PRIVATE: Final = 0o600


def save_run(kind: str, run: str, out: Path, command: str) -> bool:
    """Returns whether it could be made a test. `command` plays such tests. Raises SettingsError, also if the file is there."""
    face = find_part_of_kind(CASE_FACE, kind)
    if face is None or face.take_run is None:
        raise refuse_missing(kind, "cannot be recorded", CASE_FACE)
    try:
        recording = asyncio.run(_take(run, face.take_run))
    except NotRecordable as error:
        typer.echo(escape_text(f"Not recorded: {error}."), err=True)
        return False
    write_new_file(out, write_cases([recording.case], f"{face.test}s"))
    where = f"Put it beside the {kind} as {recording.key}.test.yaml, and play it with `{command}`."
    typer.echo(escape_text(f"{out}: a test of {recording.key}. {where}"))
    for part in recording.left_out:
        typer.echo(escape_text(hide_installed(f"  not looked at: {part}")))
    return True


async def _take(run: str, take: TakeRun) -> Recording:
    with open_database_reader() as opened:
        run_id = find_run(opened, run)
        async with aclosing(AsyncStore(opened)) as store:
            return await take(run_id, store, load_classes())


def write_new_file(path: Path, text: str) -> None:
    """Only its owner may read it: people's answers stand in it. Raises SettingsError if it is there."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise SettingsError(escape_text(f"{path} is there already, and is not overwritten")) from None
    except OSError as error:
        raise SettingsError(escape_text(f"{path}: cannot be written ({error.strerror})")) from None


_MOST_MISSED: Final = 20


@dataclass(frozen=True)
class Words:
    definition: str
    test: str


@dataclass(kw_only=True)
class Coverage:
    name: str
    parts: Sequence[str] = ()
    reached: set[str] = field(default_factory=set)

    @property
    def missed(self) -> list[str]:
        return [one for one in self.parts if one not in self.reached]

    def describe(self) -> str:
        done, total = len(self.parts) - len(self.missed), len(self.parts)
        return f"{done} of {total} {self.name} ({100 * done // max(1, total)} %)"


@dataclass(kw_only=True)
class Report:
    path: Path
    coverage: Sequence[Coverage] = ()
    tests: dict[str, list[str]] = field(default_factory=dict)
    """Differences by the name of the test."""
    problem: str = ""
    notes: Sequence[str] = ()

    @property
    def is_good(self) -> bool:
        return not self.problem and not any(self.tests.values())

    def add_test(self, name: str, number: int, differences: list[str]) -> None:
        """`number` is its place in the file."""
        self.tests[name if name not in self.tests else f"{name} ({number})"] = differences


def list_tested(path: Path, words: Words) -> list[Path]:
    """The named one, or those of a folder that have tests. Raises SettingsError if there are none."""
    if path.is_dir():
        tested = [file for file in list_files(path) if find_tests(file) is not None]
        lost = [one for one in sorted(path.glob(f"*{TEST}.*")) if one.suffix.lower() in SUFFIXES and _find_definition(one) is None]
        if not tested or lost:
            refusal = f"{path} has no {words.definition} with a file NAME{TEST}.yaml beside it"
            raise SettingsError(escape_text(f"{lost[0]} has no {words.definition} beside it" if lost else refusal))
        return tested
    definition = _find_definition(path) if path.stem.endswith(TEST) else path
    if definition is None or find_tests(definition) is None:
        raise SettingsError(escape_text(f"{path}: a {words.definition} NAME.yaml and its {words.test}s NAME{TEST}.yaml are needed"))
    return [definition]


def find_tests(definition: Path) -> Path | None:
    """None if there is none."""
    names = (definition.with_name(f"{get_key(definition)}{TEST}{suffix}") for suffix in SUFFIXES)
    return next((one for one in names if one.is_file()), None)


def _find_definition(tests: Path) -> Path | None:
    names = (tests.with_name(f"{tests.stem.removesuffix(TEST)}{suffix}") for suffix in SUFFIXES)
    return next((one for one in names if one.is_file()), None)


def write_reports(reports: Sequence[Report], words: Words, *, as_json: bool) -> bool:
    for report in reports:
        if as_json:
            write_json_lines([_build_row(report, words)])
        else:
            typer.echo(escape_text("\n".join(_describe(report))))
    count = sum(len(one.tests) for one in reports)
    failed = sum(bool(test) for one in reports for test in one.tests.values()) + sum(bool(one.problem) for one in reports)
    if not as_json:
        typer.echo(f"{_count(count, words.test)} of {_count(len(reports), words.definition)}, {failed} failed.")
    return all(one.is_good for one in reports)


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _describe(report: Report) -> Iterator[str]:
    yield f"{report.path}"
    if report.problem:
        yield f"  FAILED: {report.problem}"
        return
    for name, test in report.tests.items():
        yield f"  {'FAILED' if test else 'ok'}  {name}"
        yield from (f"    {line}" for line in test)
    for coverage in report.coverage:
        missed = coverage.missed[:_MOST_MISSED] + (["…"] if len(coverage.missed) > _MOST_MISSED else [])
        yield f"  covers {coverage.describe()}" + (f"; not reached: {', '.join(missed)}" if missed else "")
    yield from (f"  {note}" for note in report.notes)


def _build_row(report: Report, words: Words) -> dict[str, object]:
    row: dict[str, object] = {"file": str(report.path), "problem": report.problem}
    for number, coverage in enumerate(report.coverage):
        row |= {coverage.name: len(coverage.parts), "not_reached" if number == 0 else f"{coverage.name}_not_reached": coverage.missed}
    if report.notes:
        row["notes"] = list(report.notes)
    return {**row, f"{words.test}s": [{"name": name, "ok": not test, "differences": test} for name, test in report.tests.items()]}


def play_tests(kind: str, path: Path, *, as_json: bool) -> bool:
    """Tests of one definition, or of all in a folder; True if all is as expected. Raises SettingsError if there are none."""
    face = find_part_of_kind(CASE_FACE, kind)
    if face is None:
        raise refuse_missing(kind, "have no tests", CASE_FACE)
    words, family = Words(kind, face.test), find_family(kind)
    return write_reports([_play_file(face, family, file) for file in list_tested(path, words)], words, as_json=as_json)


def _play_file(face: CaseFace[Any], family: Family, path: Path) -> Report:
    tests = find_tests(path)
    if tests is None:
        raise SettingsError(escape_text(f"{path} has no {face.test}s"))
    loaded = load_file(family, path, has_stand_ins=face.has_stand_ins)
    if loaded.wrong is not None:
        write_findings(loaded.wrong.findings)
        return Report(path=path, problem=f"the {_name_wrong(loaded, family)} has mistakes")
    playable, reading, find_classes = face.build(loaded.key, loaded.document, loaded.parts), read_file(tests), load_classes()
    known = face.check_cases(reading.draft, playable, find_classes) if reading.draft is not None else ()
    findings = [*reading.findings, *known]
    if reading.document is None or has_errors(findings):
        write_findings(findings)
        return Report(path=path, problem=f"{tests.name} has mistakes")
    report = Report(path=path, coverage=[Coverage(name=name, parts=parts) for name, parts in face.list_coverage(playable).items()])
    if loaded.missing:
        report.notes = [f"no file of {', '.join(loaded.missing)}: played with {family.part}s of which only the answers are known"]
    asyncio.run(_play_all(report, face, playable, reading.document.data))
    return report


def _name_wrong(loaded: LoadedFile, family: Family) -> str:
    wrong = loaded.wrong
    return family.whole if wrong is None or wrong is loaded.files[0] else f"{family.part} {wrong.path.name}"


async def _play_all(report: Report, face: CaseFace[Any], playable: object, cases: object) -> None:
    number = 0
    async for played in face.play_cases(playable, cases, load_classes()):
        number += 1
        report.add_test(played.name, number, list(played.differences))
        for coverage in report.coverage:
            coverage.reached |= set(played.reached.get(coverage.name, ()))
