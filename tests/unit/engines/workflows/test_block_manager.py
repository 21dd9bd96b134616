"""What may happen to the blocks of a record, row by row, and which changes are in conflict (S003-54, S003-X10)."""

from dataclasses import replace
from typing import Any

import pytest

from bitrix.catalogue.names import to_field_key
from engines.workflows.core.blocks import manager
from engines.workflows.core.blocks.conflicts import (
    PERSON,
    PROCESS,
    FieldConflict,
    Record,
    choose_operations,
    compute_changes,
    find_conflicts,
    has_changes,
    list_differences,
)
from engines.workflows.core.blocks.manager import Finish, Opened, Opening
from engines.workflows.core.operations import Emitted, read_operation
from state.events.base import Event
from state.model.record_blocks import Block, BlockEvent, BlockStatus, find_current, fold_blocks

RECORD = Record(kind="deal", number="481")
FINISH = Finish(raw_text="итог", origins=("model",), operations=(), post_ai={}, post_user={})
NOBODY: frozenset[str] = frozenset()


class Stream:
    """The events of one record, as the store would keep them."""

    def __init__(self) -> None:
        self.events: list[BlockEvent] = []

    @property
    def blocks(self) -> tuple[Block, ...]:
        return fold_blocks(self.events)

    @property
    def status(self) -> BlockStatus:
        current = find_current(self.blocks)
        return current.status if current is not None else "Idle"

    def add(self, events: list[Event]) -> None:
        for one in events:
            seq = len(self.events) + 1
            self.events.append(BlockEvent(type=type(one).__name__, data=one.model_dump(mode="json"), seq=seq, ts="2026-11-21T12:00:00Z"))

    def open(self, run: str, over: frozenset[str] = NOBODY) -> Opened:
        opening = Opening(block=run, run=run, definition="dossier", version=1, by="tg:1007", title="Ромашка", input={})
        events, answer = manager.open_block(self.blocks, opening, over, 1)
        self.add(events)
        return answer

    def conflict(self, run: str) -> bool:
        events, answer = manager.enter_conflict(self.blocks, run, [{"key": "TITLE"}])
        self.add(events)
        return answer

    def resolve(self, run: str) -> bool:
        events, answer = manager.resolve_conflict(self.blocks, run, {"TITLE": PERSON}, "tg:1007")
        self.add(events)
        return answer

    def finish(self, run: str) -> bool:
        events, answer = manager.finish_block(self.blocks, run, FINISH)
        self.add(events)
        return answer

    def fail(self, run: str) -> bool:
        events, answer = manager.fail_block(self.blocks, run, "workflow-tuum-failed")
        self.add(events)
        return answer


def reached(status: BlockStatus) -> Stream:
    """A record whose block "a" has this status."""
    stream = Stream()
    stream.open("a")
    if status == "Conflict":
        stream.conflict("a")
    if status == "Error":
        stream.fail("a")
    if status == "Idle":
        stream.finish("a")
    assert stream.status == status
    return stream


@pytest.mark.req("S003-X10", "S003-54", "S003-19")
@pytest.mark.parametrize(
    ("status", "permission"), [("Idle", "apply"), ("Loading", "apply beside"), ("Conflict", "refuse"), ("Error", "refuse")]
)
def test_what_others_may_change_follows_from_the_status(status: BlockStatus, permission: str) -> None:
    """Idle: applied; Loading: applied to what the run will compare with; Conflict and Error: refused."""
    assert manager.find_permission(reached(status).blocks, NOBODY) == permission
    assert manager.find_permission((), NOBODY) == "apply"


@pytest.mark.req("S003-X10", "S003-54")
@pytest.mark.parametrize(("status", "refusal"), [("Idle", ""), ("Loading", "busy"), ("Conflict", "conflict"), ("Error", "")])
def test_another_run_opens_a_block_unless_one_works(status: BlockStatus, refusal: str) -> None:
    """A failed block is put aside and never becomes a parent; one that works or waits for a choice keeps others out."""
    stream = reached(status)
    answer = stream.open("b")
    assert answer.refusal == refusal
    if refusal:
        assert answer.other is not None
        assert answer.other.run == "a"
        return
    assert [one.parent for one in stream.blocks if one.id == "b"] == ["a" if status == "Idle" else ""]
    assert stream.open("a").refusal == ("" if status == "Idle" else "dismissed")


@pytest.mark.req("S003-54")
@pytest.mark.parametrize("status", ["Loading", "Conflict"])
def test_the_block_of_a_run_that_is_over_keeps_nobody_out(status: BlockStatus) -> None:
    """A cancelled run leaves its block as it was; the next run puts it aside."""
    stream = reached(status)
    assert stream.open("b", over=frozenset({"c"})).refusal != ""
    assert stream.open("b", over=frozenset({"a"})) == Opened()
    assert not stream.finish("a"), "a run that lost its block ends nothing"
    assert stream.status == "Loading"


@pytest.mark.req("S003-54")
def test_every_step_counts_once() -> None:
    """A run that is played again after a crash, at whatever step, adds no event."""
    stream = Stream()
    for step in (stream.open, stream.conflict, stream.resolve, stream.finish):
        step("a")
        count = len(stream.events)
        step("a")
        assert len(stream.events) == count
    assert [one.type for one in stream.events] == ["BlockOpened", "BlockConflicted", "BlockResolved", "BlockFinished"]


@pytest.mark.req("S003-54")
def test_a_failed_block_goes_on_after_a_retry() -> None:
    """It is the same block, with the same parent."""
    stream = reached("Error")
    assert stream.open("a") == Opened()
    assert stream.status == "Loading"
    assert stream.finish("a")
    assert len(stream.blocks) == 1


def change(key: str, operator: str, value: Any, number: str = "481") -> Emitted:
    """An operation that changes a field."""
    written = {"operationType": "ModifyEntity", "entityType": "deal", "entityId": number, "attributeKey": key}
    return Emitted(operation=read_operation({**written, "modifyOperator": operator, "modifyValue": value}), origins=frozenset())


def choose(operations: list[Emitted], conflicts: list[FieldConflict], choices: dict[str, str]) -> list[Emitted]:
    return [one for one in choose_operations(RECORD, operations, conflicts, choices) if one is not None]


def make(number: str) -> Emitted:
    """An operation that makes a deal under this name."""
    written = {"operationType": "CreateEntity", "entityType": "deal", "entityId": number, "initialAttributes": {"TITLE": "Новая"}}
    return Emitted(operation=read_operation(written), origins=frozenset())


BEFORE = {"OPPORTUNITY": "1000000.00", "TITLE": "Ромашка", "COMMENTS": ""}
Cases = list[tuple[dict[str, Any], list[Emitted], list[tuple[Any, Any]]]]
CASES: Cases = [
    ({"OPPORTUNITY": "150000"}, [change("OPPORTUNITY", "=", 120000)], [("150000", 120000)]),
    ({"OPPORTUNITY": "150000.00"}, [change("OPPORTUNITY", "=", 150000)], []),
    ({"OPPORTUNITY": "1000000"}, [change("OPPORTUNITY", "=", 120000)], []),
    ({"TITLE": "Лютик"}, [change("OPPORTUNITY", "=", 120000)], []),
    ({"OPPORTUNITY": "150000"}, [change("OPPORTUNITY", "=", 120000, number="482")], []),
    ({"OPPORTUNITY": "150000"}, [change("OPPORTUNITY", "+=", 500)], []),
    ({"OPPORTUNITY": "по договору"}, [change("OPPORTUNITY", "-=", 500)], [("по договору", "999500")]),
    ({"OPPORTUNITY": "150000"}, [change("opportunity", "=", 1), change("opportunity", "+=", 1)], [("150000", "2")]),
    ({"COMMENTS": "звонил"}, [change("COMMENTS", "=", "писал")], [("звонил", "писал")]),
    ({"TITLE": ""}, [change("TITLE", "=", None)], []),
    ({"TITLE": "Лютик"}, [change("TITLE", "=", "")], [("Лютик", "")]),
    ({"OPPORTUNITY": "150000"}, [change("OPPORTUNITY", "+=", 1), change("OPPORTUNITY", "=", 7)], [("150000", 7)]),
    ({"OPPORTUNITY": "150000"}, [change("OPPORTUNITY", "=", "много"), change("OPPORTUNITY", "-=", 1)], []),
    ({"OPPORTUNITY": "150000"}, [change("OPPORTUNITY", "=", 7, number=" 481 ")], [("150000", 7)]),
    ({"TITLE": "7"}, [change("TITLE", "-=", 1), change("TITLE", "=", "Роза")], [("7", "Роза")]),
    ({"TITLE": "Лютик"}, [make("481"), change("TITLE", "=", "Роза")], []),
    ({"TITLE": "Лютик"}, [change("TITLE", "=", "Роза"), make("481"), change("TITLE", "=", "Мак")], [("Лютик", "Роза")]),
    ({"TITLE": "sNaN"}, [change("TITLE", "=", "NaN")], [("sNaN", "NaN")]),
]


@pytest.mark.req("S003-X10", "S003-54")
@pytest.mark.parametrize(("meanwhile", "operations", "expected"), CASES)
def test_a_conflict_is_one_field_with_two_new_values(
    meanwhile: dict[str, Any], operations: list[Emitted], expected: list[tuple[Any, Any]]
) -> None:
    """Not one that only one side changed, not one that both set to the same, and not a sum that is added to."""
    found = find_conflicts(RECORD, BEFORE, {**BEFORE, **meanwhile}, operations)
    assert [(one.person, one.process) for one in found] == expected


@pytest.mark.req("S003-X10", "S003-54")
def test_only_what_was_chosen_is_applied() -> None:
    """The field that stays loses all its operations; of the other the value that was shown is written, whatever stands there now."""
    now = {**BEFORE, "OPPORTUNITY": "по договору", "TITLE": "Лютик"}
    operations = [change("OPPORTUNITY", "+=", 500), change("TITLE", "=", "Роза"), change("COMMENTS", "=", "писал")]
    conflicts = find_conflicts(RECORD, BEFORE, now, operations)
    left = choose(operations, conflicts, {"OPPORTUNITY": PROCESS, "TITLE": PERSON})
    assert [(one.operation.attribute_key, one.operation.modify_operator, one.operation.modify_value) for one in left] == [
        ("OPPORTUNITY", "=", "1000500"),
        ("COMMENTS", "=", "писал"),
    ]
    assert compute_changes(RECORD, BEFORE, operations) == {"OPPORTUNITY": "1000500", "TITLE": "Роза", "COMMENTS": "писал"}


@pytest.mark.req("S003-X10", "S003-54")
def test_a_choice_says_nothing_of_a_record_that_is_made_under_the_same_number() -> None:
    """From there on the number is its name."""
    operations = [change("TITLE", "=", "Роза"), make("481"), change("TITLE", "=", "Мак")]
    conflicts = find_conflicts(RECORD, BEFORE, {**BEFORE, "TITLE": "Лютик"}, operations)
    assert choose(operations, conflicts, {"TITLE": PERSON}) == operations[1:]
    assert not has_changes(RECORD, operations[1:])


@pytest.mark.req("S003-X10", "S003-54")
def test_a_deletion_is_a_change_of_the_record() -> None:
    """Where nobody but the run of a block may change the record, nobody else deletes it either."""
    delete = read_operation({"operationType": "DeleteEntity", "entityType": "deal", "entityId": "481"})
    assert has_changes(RECORD, [Emitted(operation=delete, origins=frozenset())])
    assert not has_changes(Record(kind="deal", number="482"), [Emitted(operation=delete, origins=frozenset())])


SPELLINGS = [
    ("COMMENTS", "comments"), ("comments", "COMMENTS"), ("ufCrm_1", "UF_CRM_1"), ("UF_CRM_3_DIGIT", "ufCrm3Digit"),
]  # fmt: skip


@pytest.mark.req("S003-X10", "S003-54", "S003-A6")
@pytest.mark.parametrize(("first", "later"), SPELLINGS)
@pytest.mark.parametrize(("choice", "left"), [(PROCESS, ["писал", "писал ещё"]), (PERSON, [])])
def test_a_field_in_two_spellings_is_asked_about_once_and_one_choice_holds_for_both(
    first: str, later: str, choice: str, left: list[str]
) -> None:
    """Otherwise the question would show half of the change, and the other half would be written whatever was chosen."""
    operations = [change(first, "=", "писал"), change(later, "+=", " ещё")]
    conflicts = find_conflicts(RECORD, {later: ""}, {later: "звонил"}, operations)
    assert [(one.key, one.person, one.process) for one in conflicts] == [(first, "звонил", "писал ещё")]
    assert [one.operation.modify_value for one in choose(operations, conflicts, {first: choice})] == left
    assert compute_changes(RECORD, {later: ""}, operations) == {first: "писал ещё"}


SECOND_NAMES = [
    ("lead", "STAGE_ID", "STATUS_ID"), ("lead", "stageId", "STATUS_ID"), ("lead", "stageSemanticId", "STATUS_SEMANTIC_ID"),
    ("company", "TYPE_ID", "COMPANY_TYPE"), ("company", "typeId", "COMPANY_TYPE"),
]  # fmt: skip


@pytest.mark.req("S003-X10", "S003-54")
@pytest.mark.parametrize(("kind", "written", "own"), SECOND_NAMES)
def test_a_field_that_is_written_by_its_second_name_is_asked_about(kind: str, written: str, own: str) -> None:
    """A call takes both names, so a run that uses the second one would write over what a colleague has set."""
    assert to_field_key(written, kind) == to_field_key(own, kind)
    one = change(written, "=", "JUNK")
    operations = [replace(one, operation=one.operation.model_copy(update={"entity_type": kind}))]
    conflicts = find_conflicts(Record(kind=kind, number="481"), {own: "NEW"}, {own: "IN_PROCESS"}, operations)
    assert [(one.before, one.person, one.process) for one in conflicts] == [("NEW", "IN_PROCESS", "JUNK")]
    assert find_conflicts(Record(kind="deal", number="481"), {own: "NEW"}, {own: "IN_PROCESS"}, [one]) == []


@pytest.mark.req("S003-X10", "S003-54")
def test_fields_whose_names_differ_in_an_underscore_between_digits_are_two() -> None:
    """The company's own fields are called so: a choice about one of them says nothing of the other."""
    operations = [change("UF_CRM_1_23", "=", "а"), change("UF_CRM_12_3", "=", "б"), change("ufCrm12_3", "=", "в")]
    before = {"UF_CRM_1_23": "", "UF_CRM_12_3": ""}
    conflicts = find_conflicts(RECORD, before, {**before, "UF_CRM_12_3": "звонил"}, operations)
    assert [(one.key, one.process) for one in conflicts] == [("UF_CRM_12_3", "в")]
    assert choose(operations, conflicts, {"UF_CRM_12_3": PERSON}) == operations[:1]


@pytest.mark.req("S003-54")
@pytest.mark.parametrize("text", ["NaN", "sNaN", "-Infinity", "1e999999999"])
def test_a_text_that_reads_as_a_strange_number_is_compared_as_a_text(text: str) -> None:
    """Whoever names a deal so neither ends a run after its changes were made, nor seems to have changed it."""
    assert list_differences({"TITLE": text}, {"TITLE": text}) == {}
    assert list_differences({"TITLE": text}, {"TITLE": "7"}) == {"TITLE": "7"}


@pytest.mark.req("S003-X10")
def test_a_choice_counts_until_the_field_is_asked_about_again() -> None:
    """What was chosen for other fields stays, with who chose it; one that is asked about anew is open until it is chosen anew."""
    stream = reached("Loading")
    for fields, choices, by in (
        ([{"key": "A", "person": 1}, {"key": "B", "person": 1}], {"A": PERSON, "B": PERSON}, "tg:1"),
        ([{"key": "A", "person": 2}], {"A": "process", "B": PERSON}, "tg:2"),
    ):
        stream.add(manager.enter_conflict(stream.blocks, "a", fields)[0])
        assert not set(stream.blocks[0].choices) & {one["key"] for one in fields}
        stream.add(manager.resolve_conflict(stream.blocks, "a", choices, by)[0])
    (block,) = stream.blocks
    assert [(one["key"], one["person"]) for one in block.conflict] == [("B", 1), ("A", 2)]
    assert (dict(block.choices), dict(block.chosen_by)) == ({"A": "process", "B": PERSON}, {"A": "tg:2", "B": "tg:1"})
