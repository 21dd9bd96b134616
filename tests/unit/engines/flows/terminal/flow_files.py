"""Files and calls for tests of `sdelka flow`."""

from pathlib import Path
from typing import Any

from engines.flows.terminal import app as flow_app
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.engines.scenarios.terminal import scenario_files

WRITER = "title: Автор\nsystemPrompt: Ты пишешь коммерческие предложения.\n"
OFFER = """\
flowId: offer
metadata: {title: Черновик предложения}
launchParameters:
  - {name: client, description: Для кого предложение?}
  - {name: budget, type: number, required: false}
steps:
  - id: draft
    agentVersionId: writer
    maxAttempts: 2
    memoryWrites: [{channel: drafts}]
    transitions: {onSuccess: {next: review}}
  - id: review
    agentVersionId: reviewer
    memoryReads: [{channel: drafts, limit: 1}]
outputs:
  resultPayload: {offer: "$steps.review.output.content"}
"""
BAD = """\
flowId: bad
metadata: {title: Ошибки}
steps:
  - id: one
    agentVersionId: writer
    maxAttempts: many
    transitions: {onSuccess: {next: tow}}
  - {id: two, agentVersionId: writer}
"""
DELETER = "systemPrompt: Ты удаляешь сделки.\neffects: [crm.deal.delete]\n"


def write_files(folder: Path) -> None:
    """Write a flow with two agents, one with mistakes, and an agent that may delete."""
    reviewer = WRITER.replace("пишешь", "проверяешь")
    files = {"writer": WRITER, "reviewer": reviewer, "offer": OFFER, "bad": BAD, "deleter": DELETER}
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")


def create_database(folder: Path) -> None:
    """Create the empty database that the settings of a test name with STATE_DIR."""
    open_store(build_sqlite_url(folder / "sdelka.db")).close()


def call(*words: object, typed: str = "") -> tuple[int, str]:
    """Exit code and all that was shown, errors as `sdelka` shows them."""
    return scenario_files.call(*words, typed=typed, app=flow_app.app)


def call_json(*words: object, typed: str = "") -> tuple[int, list[Any]]:
    """The same with --json: the exit code and the objects, one a line."""
    return scenario_files.call_json(*words, typed=typed, app=flow_app.app)
