"""Nothing reaches the portal but through the gate: which shipped files may name a method that changes something is an allow list."""

import re
from pathlib import Path
from typing import Final

import pytest

from bitrix.catalogue.catalogue import Catalogue, load_catalogue
from tests.unit.write_guard import Naming, WriteGuard, list_files

ROOT = Path(__file__).resolve().parents[2]
ALLOWED: Final = {
    "orchestrator/reports/policy_explain.py": "says what the rules decide about usual acts; the calls are hypothetical and nothing here can send one",
    "bot/http_api/approvals/card_models.py": "examples in the description of the HTTP API",
    "bot/http_api/audit/audit_trail.py": "examples in the description of the HTTP API",
    "bot/http_api/audit/event_models.py": "examples in the description of the HTTP API",
    "bot/http_api/chat/answers.py": "an example in the description of the HTTP API",
    "engines/crm_agent/core/plan.py": "recognizes a proposed step that would add a person who may be known already",
    "engines/crm_agent/core/setbacks.py": "compares proposed steps by the family of their method",
    "engines/workflows/core/entities.py": "the methods that operations of workflows become, which are submitted to the gate",
    "engines/scenarios/core/authoring.py": "writes the file of a first scenario; what it calls passes the gate when it runs",
    "orchestrator/gate/undo/undo_policy.py": "the update that puts a sum back beside its rows; what takes a change back is proposed to the gate",
    "orchestrator/gate/decide/call_partners.py": "recognizes a proposed call that is noted without saying with whom it was",
    "orchestrator/gate/decide/linked_customers.py": "names the lists of deals and leads that it reads",
    "orchestrator/gate/call/critical_fields.py": "recognizes a handler's address among the parameters of a proposed call",
    "orchestrator/gate/call/essence.py": "the one name under which two names of the same write are compared; nothing is called by it",
    "orchestrator/gate/decide/calendar_sections.py": "recognizes an event that needs a calendar of its owner",
    "orchestrator/gate/decide/evaluate_rules.py": "the other names under which a rule of the owner may mean the proposed call",
    "orchestrator/gate/decide/field_checks.py": "recognizes calls that write a stage or a deadline, to check the value",
    "orchestrator/gate/decide/refusals.py": "recognizes a call that would unbind every handler",
    "orchestrator/gate/normalize/batch.py": "where the new record's id stands in the answer to an adding command",
    "orchestrator/gate/call/targets.py": "which other record a call about a link concerns",
    "orchestrator/gate/normalize/merge_multifields.py": "recognizes calls on a record that has phones",
    "engines/crm_agent/core/list_sending.py": "by which call a list is passed on; the gate judges it and always asks",
    "orchestrator/domain/bulk.py": "by which call a record of each kind is changed; the gate builds, judges and freezes these calls",
    "orchestrator/gate/bulk/notes.py": "by which notice the new owners of a hand-over are told; it is judged and frozen with the file",
    "orchestrator/directory/lead_conversion.py": "writes the batch that an engine then proposes to the gate, step by step",
    "orchestrator/performers/reconciliation.py": "how to find the traces of a call whose answer was lost; it sends reads",
    "orchestrator/performers/state_changes.py": "what the state becomes after a call that has been made",
}
"""Files that name a writing method without sending it. `orchestrator/performers/bitrix.py` sends what was decided and names none."""

PRIVATE: Final = {
    "bot/http_api/server/serving.py": "fields of another connection of its own class",
    "bot/monitoring/logging_setup.py": "the text of an exception, which has no other way to be replaced",
    "orchestrator/directory/reference.py": "the log of a copy of its own object",
}
"""Files that may switch off ruff's SLF001, which keeps others from the client behind a performer or a reader."""
_PRIVATE_ACCESS: Final = re.compile(r"noqa:?[^\n]*\bSLF|noqa(?!:)|ruff: *noqa|\b[gs]etattr\([^)]*[\"']_|\b(?:vars|attrgetter)\([^)]*[\"']_")


@pytest.fixture(scope="module")
def guard() -> WriteGuard:
    return WriteGuard(load_catalogue(ROOT / "data" / "catalogue"))


@pytest.fixture(scope="module")
def catalogue(guard: WriteGuard) -> Catalogue:
    return guard.catalogue


@pytest.fixture(scope="module")
def named(guard: WriteGuard) -> list[Naming]:
    return guard.find_writes(ROOT)


@pytest.mark.slow
@pytest.mark.req("G1")
def test_code_outside_the_gate_names_reads_only(named: list[Naming]) -> None:
    """Only the files of the list name a writing method of the portal, in any way of writing a text; each has its reason."""
    assert [f"{found.path}:{found.line} {found.text}" for found in named if found.path not in ALLOWED] == []


@pytest.mark.slow
@pytest.mark.req("G1")
def test_every_file_of_the_list_is_needed_there(named: list[Naming]) -> None:
    """A file that is gone, or names no writing method any more, leaves the list."""
    assert sorted(set(ALLOWED) - {found.path for found in named}) == []
    assert all(reason.strip() for reason in ALLOWED.values())


@pytest.mark.slow
@pytest.mark.req("G1")
def test_private_fields_stay_private() -> None:
    """Only the files of the list suppress SLF001 or name a private field in a text, and each of them still does."""
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in list_files(ROOT)}
    assert sorted(path for path, text in texts.items() if _PRIVATE_ACCESS.search(text)) == sorted(PRIVATE)


def test_a_folder_without_shipped_code_is_an_error(guard: WriteGuard, tmp_path: Path) -> None:
    """A folder that was moved away is reported instead of being passed over."""
    (tmp_path / "bot").mkdir()
    with pytest.raises(FileNotFoundError):
        guard.find_writes(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        '"crm.deal.delete"',
        '"CRM.Deal.DELETE "',
        '"crm.deal.delete?id=481"',
        'f"crm.{kind}.delete"',
        'f"crm.{kind}.{verb}"',
        'f"{family}.deal.{verb}"',
        "f\"crm.deal.{'delete'}\"",
        '"crm." + kind + ".delete"',
        '"crm" ".deal" + ".delete"',
        'kind + ".delete"',
        '"crm.%s.delete" % kind',
        '"crm.{}.delete".format(kind)',
        '"crm.{kind}.delete".format(kind=kind)',
        '".".join(["crm", kind, "delete"])',
        '".".join(("crm", "deal", "delete"))',
        '{"cmd": {"a": f"crm.{kind}.delete?id={number}"}}',
        "print(f\"{call('crm.deal.delete')} of {total:.1f}\")",
        'lambda: "crm.item.delete"',
    ],
)
def test_every_way_of_writing_the_name_is_recognised(guard: WriteGuard, text: str) -> None:
    """A writing method is found however the text that names it is put together."""
    assert any(found.methods for found in guard.find_in_source("a.py", f"x = {text}"))


@pytest.mark.parametrize(
    "text",
    [
        '"crm.deal.list"',
        'f"{kind}.{verb}"',
        'f"{name}.gz"',
        'f"{total:.1f}"',
        'f"crm.{kind}.userfield.list"',
        '"crm.deal.delete needs a card"',
        '"a" + name + "."',
        "total + 1",
    ],
)
def test_other_texts_are_left_alone(guard: WriteGuard, text: str) -> None:
    """Reads, file names, figures and prose name no writing method."""
    assert list(guard.find_in_source("a.py", f"x = {text}")) == []


@pytest.mark.req("G1")
def test_records_are_read_by_reads(catalogue: Catalogue) -> None:
    """The methods that the catalogue names for reading a record only read."""
    for entity in catalogue.entities.values():
        assert _is_read(catalogue, entity.get), entity.name
        assert _is_read(catalogue, entity.list), entity.name


def _is_read(catalogue: Catalogue, name: str) -> bool:
    found = catalogue.find(name)
    return found is not None and found.reads_only
