"""The shipped catalogue as a whole: what must hold of every row."""

import re
import subprocess
import sys

import pytest

from bitrix.catalogue.catalogue import Entity, Method
from orchestrator.gate.call.fields import to_field_key
from tests.unit.gate.gate_kit import ROOT, catalogue

METHODS = list(catalogue())
NAMES = {method.name for method in METHODS}
ENTITIES = list(catalogue().entities.values())
_ROWS = """
crm.deal.get crm.deal.list crm.deal.fields crm.deal.productrows.get crm.deal.contact.items.get crm.deal.userfield.list crm.deal.add
crm.deal.update crm.deal.delete crm.deal.productrows.set crm.deal.contact.add crm.deal.contact.items.set crm.deal.contact.items.delete
crm.deal.userfield.add crm.deal.userfield.update crm.deal.userfield.delete crm.deal.recurring.add crm.lead.get crm.lead.list crm.lead.fields
crm.lead.add crm.lead.update crm.lead.delete crm.contact.get crm.contact.list crm.contact.fields crm.contact.add crm.contact.update
crm.contact.delete crm.company.get crm.company.list crm.company.fields crm.company.add crm.company.update crm.company.delete crm.item.get
crm.item.list crm.item.fields crm.item.add crm.item.update crm.item.delete crm.item.import crm.item.batchImport crm.item.productrow.list
crm.item.productrow.get crm.item.productrow.add crm.item.productrow.update crm.item.productrow.delete crm.item.productrow.set
crm.item.payment.pay crm.item.payment.unpay crm.item.payment.add crm.item.payment.update crm.item.payment.delete crm.activity.get
crm.activity.list crm.activity.add crm.activity.update crm.activity.delete crm.activity.todo.add crm.activity.todo.update
crm.activity.todo.updateDescription crm.activity.todo.updateColor crm.activity.todo.updateDeadline crm.activity.todo.updateResponsibleUser
crm.activity.binding.add crm.activity.binding.delete crm.activity.binding.move crm.activity.configurable.add crm.activity.type.add
crm.activity.badge.add crm.timeline.comment.list crm.timeline.comment.get crm.timeline.comment.add crm.timeline.comment.update
crm.timeline.comment.delete crm.timeline.logmessage.add crm.timeline.note.save crm.status.list crm.status.get crm.status.entity.items
crm.status.entity.types crm.status.add crm.status.update crm.status.delete crm.category.list crm.category.get crm.category.fields
crm.dealcategory.list crm.category.add crm.category.update crm.category.delete crm.type.list crm.type.get crm.type.add crm.type.update
crm.type.delete crm.stagehistory.list crm.enum.ownertype crm.settings.mode.get crm.currency.list crm.currency.get crm.currency.add
crm.currency.update crm.currency.delete crm.currency.base.set crm.duplicate.findbycomm crm.entity.mergeBatch crm.requisite.add
crm.requisite.update crm.requisite.delete crm.address.add crm.address.update crm.address.delete crm.documentgenerator.document.add
crm.automation.trigger.execute bizproc.workflow.start bizproc.workflow.kill bizproc.workflow.terminate bizproc.workflow.template.add
bizproc.robot.add bizproc.activity.add tasks.task.get tasks.task.list tasks.task.getFields tasks.task.history.list tasks.task.getaccess
tasks.task.add tasks.task.update tasks.task.delegate tasks.task.start tasks.task.pause tasks.task.defer tasks.task.complete tasks.task.renew
tasks.task.approve tasks.task.disapprove tasks.task.delete task.checklistitem.add task.checklistitem.update task.checklistitem.complete
task.checklistitem.delete tasks.task.files.attach task.dependence.add task.elapseditem.add tasks.task.chat.message.send user.get user.search
user.current user.fields department.get profile user.add user.update im.notify im.notify.personal.add im.notify.system.add im.message.add
im.message.update im.message.delete im.chat.add calendar.event.get calendar.event.getbyid calendar.event.get.nearest
calendar.accessibility.get calendar.event.add calendar.event.update calendar.event.delete event.get events event.offline.list event.bind
event.unbind event.offline.get event.offline.clear event.offline.error placement.bind app.option.set userfieldconfig.add imbot.register
imconnector.register landing.landing.add entity.add disk.file.delete disk.folder.deletetree disk.file.markdeleted disk.folder.uploadfile
methods method.get scope feature.get server.time app.info user.admin batch
"""
ROWS_OF_THE_FACTS = frozenset(_ROWS.split())

_SCOPES = """
basic bizproc calendar call catalog crm department disk entity im imbot imopenlines landing lists log placement salescenter sonet_group task
tasks telephony timeman user user.userfield userfieldconfig
"""
SCOPES = frozenset(_SCOPES.split())
_PAGE = re.compile(r"[a-z][a-z0-9-]*(?:/[A-Za-z0-9-]+)*", re.ASCII)
_FOR_APPLICATIONS = """
event.bind event.unbind event.get events event.test event.offline.get event.offline.list event.offline.clear event.offline.error placement.bind
placement.unbind placement.get app.option.get app.option.set user.option.set crm.automation.trigger.execute crm.automation.trigger.add
crm.activity.configurable.add crm.activity.type.add crm.activity.badge.add crm.timeline.layout.blocks.set bizproc.robot.add bizproc.activity.add
bizproc.workflow.template.add telephony.externalCall.register telephony.externalCall.finish imconnector.register entity.add
"""
FOR_APPLICATIONS = frozenset(_FOR_APPLICATIONS.split())

TIMED = """
import sys, time
from pathlib import Path
import yaml
sys.path.insert(0, sys.argv[1])
from bitrix.catalogue.catalogue import _read, load_catalogue
def taken(work):
    start = time.process_time()
    work()
    return time.process_time() - start
yardstick = "".join(f"- {{name: n{n}, list: [a, b, c], more: {{x: 1, y: true}}, text: some words here}}\\n" for n in range(500))
loads, reads = [], []
for _ in range(8):
    _read.cache_clear()
    loads.append(taken(lambda: load_catalogue(Path(sys.argv[1], "data", "catalogue"))))
    reads.append(taken(lambda: yaml.load(yardstick, Loader=yaml.CSafeLoader)))
print(min(loads), min(reads))
"""


def test_every_row_of_the_facts_is_listed() -> None:
    """No method of the facts' gate catalogue is missing, and the documented families of a sales team are there beyond its 102 rows."""
    assert ROWS_OF_THE_FACTS <= NAMES
    assert len(METHODS) > 900


@pytest.mark.long
def test_it_loads_fast() -> None:
    """Reading all rows costs a start less than 250 ms of processor time where 500 plain rows of YAML cost 31 ms."""
    command = [sys.executable, "-c", TIMED, str(ROOT)]  # a process of its own, as the product starts
    loads, reads = map(float, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert loads < max(0.25, reads * 250 / 31)  # a machine that others use is slower at both


def test_no_column_of_a_row_is_missing() -> None:
    """Where it is documented, what right it needs, how to take it back: every row says it."""
    for method in METHODS:
        assert method.scope in SCOPES, method.name
        assert _PAGE.fullmatch(method.source), method.name
        assert _says_the_way_back(method), method.name
        assert _has_target(method), method.name
        assert not _twice(method), method.name
        assert _guards(method), method.name


def _says_the_way_back(method: Method) -> bool:
    """The method that takes it back, or why there is none; what is closed anyway need not, unless it deletes."""
    if method.reads_only or method.name == "batch" or (method.closed and "D" not in method.classes):
        return True
    return bool(method.undo or method.note)


def _guards(method: Method) -> bool:
    """A critical field that a call cannot name would guard nothing."""
    if method.fields_at or not method.critical or "*" in method.params:
        return True
    known = {name.lower() for name in (*method.required, *method.params, *method.stands_for, method.responsible)}
    return bool({name.lower() for name in method.critical} & known)


def _has_target(method: Method) -> bool:
    """A change of a record of a kind the catalogue can read names the record."""
    kind = (method.target_entity or method.entity).partition(":")[0]
    return method.verb not in {"update", "delete"} or bool(method.target) or kind not in catalogue().entities


def _twice(method: Method) -> set[str]:
    """Parameters that a row names in two spellings, of which only one can reach the portal."""
    tops = {path.partition(".")[0] for path in (*method.required, *method.target, *method.params, *method.stands_for, *method.forced)}
    lower = [name.lower() for name in tops]
    return {name for name in lower if lower.count(name) > 1}


def test_what_needs_an_application_is_marked() -> None:
    """Subscriptions, placements, robots and registered calls need OAuth; no daily method of a sales team does."""
    marked = {method.name for method in METHODS if method.app_only}
    assert marked >= FOR_APPLICATIONS
    assert not any(
        name.startswith(("crm.deal.", "crm.lead.", "crm.item.", "crm.contact.", "crm.company.", "tasks.", "user.get")) for name in marked
    )
    assert not any(method.safe_create for method in METHODS if method.app_only)


def test_no_row_of_the_facts_is_rare() -> None:
    """What the facts list stays in the list that models are given; a closed row needs no mark, it is left out anyway."""
    rare = {method.name for method in METHODS if method.rare}
    assert not rare & ROWS_OF_THE_FACTS
    assert not [method.name for method in METHODS if method.rare and (method.closed or "D" in method.classes or method.safe_create)]


def test_every_row_holds_together() -> None:
    """Classes, ways back, owners and sources of each row fit each other."""
    for method in METHODS:
        _check_row(method)
        _check_owner(method)


def _check_row(method: Method) -> None:
    assert method.classes
    assert len(set(method.classes)) == len(method.classes)
    assert "R" not in method.classes or method.classes == ("R",)
    assert {method.before, method.undo} - {""} <= NAMES
    assert method.before == "" or catalogue().find(method.before).reads_only  # type: ignore[union-attr]
    assert method.source
    assert not (method.safe_create and (method.closed or set(method.classes) != {"W"} or method.verb != "add"))
    assert not (method.verb == "delete" and method.reads_only)


def _check_owner(method: Method) -> None:
    assert method.owner != "filter" or (method.owner_filter and method.verb == "list" and "filter" in method.params)
    assert method.owner != "record" or method.target
    assert not method.marked or (method.responsible and method.verb == "add")
    assert method.target_entity.startswith("@") or not method.target_entity or _known_kind(method.target_entity)
    assert not method.responsible or not method.reads_only
    if not method.reads_only and method.target:
        assert method.owner in {"record", "part", "author", "unscoped", "self"}
    if method.owner == "part":
        assert method.target
        assert catalogue().entities[method.target_entity or method.entity].part_of is not None
    if method.target and not method.target_entity and method.owner == "record":
        assert _known_kind(method.entity)


def _known_kind(name: str) -> bool:
    """deal, or item:7 for a fixed kind of smart process."""
    return name.partition(":")[0] in catalogue().entities


def test_critical_fields_stand_in_both_spellings() -> None:
    """A row that names ASSIGNED_BY_ID names assignedById too."""
    for method, name in ((row, name) for row in METHODS for name in row.critical):
        if "_" in name and name.isupper():
            head, *tail = name.lower().split("_")
            special = {"CREATED_BY_ID": "createdBy", "is_meeting": "is_meeting"}
            assert special.get(name, head + "".join(word.capitalize() for word in tail)) in method.critical, method.name


@pytest.mark.parametrize("entity", ENTITIES, ids=lambda entity: entity.name)
def test_every_kind_of_record_can_be_read_and_named(entity: Entity) -> None:
    """The reads exist, and each field has a name in both languages."""
    assert entity.get in NAMES
    assert entity.list in NAMES
    for name, field in entity.fields.items():
        assert field.ru, name
        assert field.en, name


@pytest.mark.parametrize("entity", ENTITIES, ids=lambda entity: entity.name)
def test_no_two_fields_of_a_kind_are_one_field(entity: Entity) -> None:
    """A field in any spelling means exactly one row, or it would be sent under the wrong name."""
    keys = [to_field_key(name, entity.name) for name in entity.fields]
    assert len(keys) == len(set(keys))


def test_free_text_of_others_is_prose_and_titles_are_labels() -> None:
    """Comments and descriptions taint a turn, titles do not."""
    kinds = {
        entity: {name: field.kind for name, field in catalogue().entities[entity].fields.items()} for entity in ("deal", "task", "comment")
    }
    assert kinds["deal"]["COMMENTS"] == kinds["task"]["DESCRIPTION"] == kinds["comment"]["COMMENT"] == "prose"
    assert kinds["deal"]["TITLE"] == kinds["task"]["TITLE"] == "text"


@pytest.mark.req("S004-73")
def test_names_that_sound_like_reading_are_not_reads() -> None:
    """event.offline.get deletes, placement.get is configuration; only event.get is a read."""
    assert "D" in catalogue().find("event.offline.get").classes  # type: ignore[union-attr]
    assert catalogue().find("placement.get").closed  # type: ignore[union-attr]
    assert catalogue().find("event.get").reads_only  # type: ignore[union-attr]


@pytest.mark.req("S004-X1")
def test_safe_creates_are_the_agreed_ones() -> None:
    """Exactly records, tasks, to-dos, internal activities, comments and checklist items may be made in canary mode."""
    safe = {method.name for method in METHODS if method.safe_create}
    assert safe == {
        *(
            f"crm.{entity}.add"
            for entity in ("deal", "lead", "contact", "company", "item", "activity", "activity.todo", "timeline.comment")
        ),
        "tasks.task.add",
        "task.checklistitem.add",
        "task.commentitem.add",
    }
