"""Plays the tests beside definitions."""

import asyncio
from pathlib import Path
from typing import Any

from bot.cli.author.faces import Family, find_family, refuse_missing
from bot.cli.author.files import LoadedFile, load_file
from bot.cli.author.played_tests import Coverage, Report, Words, find_tests, list_tested, write_reports
from bot.cli.definition_desk import write_findings
from bot.cli.definition_files import load_classes, read_file
from bot.cli.ops import escape_text
from bot.plugins.loading import find_part_of_kind
from bot.rehearsing.case_face import CASE_FACE, CaseFace
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.finding import has_errors


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
