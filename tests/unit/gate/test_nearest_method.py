"""A wrong method name is answered with the method that was meant, and with none rather than with another act."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitrix.catalogue.catalogue import load_catalogue
from orchestrator.gate.normalize.nearest_method import find_nearest_method

CATALOGUE = load_catalogue(Path(__file__).parents[3] / "data/catalogue")
WRITTEN = [
    "crm.task.add",
    "tasks.task.add",
    "crm.tasks.add",
    "tasks.task.add",
    "tasks.add",
    "tasks.task.add",
    "task.add",
    "tasks.task.add",
    "task.item.add",
    "tasks.task.add",
    "tasks.task.create",
    "tasks.task.add",
    "tasks.task.new",
    "tasks.task.add",
    "tasks.task.close",
    "tasks.task.complete",
    "tasks.task.finish",
    "tasks.task.complete",
    "tasks.task.updatedeadline",
    "tasks.task.update",
    "tasks.task.setResponsible",
    "tasks.task.update",
    "tasks.task.comment.add",
    "task.commentitem.add",
    "tasks.comment.add",
    "task.commentitem.add",
    "tasks.task.addComment",
    "task.commentitem.add",
    "tasks.task.remove",
    "tasks.task.delete",
    "tasks.list",
    "tasks.task.list",
    "crm.deal.create",
    "crm.deal.add",
    "crm.deal.edit",
    "crm.deal.update",
    "crm.deal.modify",
    "crm.deal.update",
    "crm.deal.move",
    "crm.deal.update",
    "crm.deal.close",
    "crm.deal.update",
    "crm.deal.setStage",
    "crm.deal.update",
    "crm.deal.update_stage",
    "crm.deal.update",
    "crm.deal.bulkUpdate",
    "crm.deal.update",
    "crm.deal.remove",
    "crm.deal.delete",
    "crm.deal.detele",
    "crm.deal.delete",
    "crm.deal.find",
    "crm.deal.list",
    "crm.deal.search",
    "crm.deal.list",
    "crm.deal.getByName",
    "crm.deal.get",
    "crm.deal.count",
    "crm.deal.list",
    "crm.deals.list",
    "crm.deal.list",
    "crm.dael.list",
    "crm.deal.list",
    "crm.deal.updat",
    "crm.deal.update",
    "deal.list",
    "crm.deal.list",
    "crm.deal.fields.get",
    "crm.deal.fields",
    "crm.deal.stages",
    "crm.dealcategory.stage.list",
    "crm.deal.contacts",
    "crm.deal.contact.items.get",
    "crm.deal.products",
    "crm.deal.productrows.get",
    "crm.deal.productrows.update",
    "crm.deal.productrows.set",
    "crm.deal.comment.add",
    "crm.timeline.comment.add",
    "crm.deal.addcomment",
    "crm.timeline.comment.add",
    "crm.comment.add",
    "crm.timeline.comment.add",
    "crm.note.add",
    "crm.timeline.comment.add",
    "crm.timeline.add",
    "crm.timeline.comment.add",
    "crm.contact.create",
    "crm.contact.add",
    "crm.contact.find",
    "crm.contact.list",
    "crm.companies.list",
    "crm.company.list",
    "crm.lead.convert",
    "crm.lead.update",
    "crm.call.add",
    "crm.activity.todo.add",
    "crm.meeting.add",
    "crm.activity.todo.add",
    "crm.reminder.add",
    "crm.activity.todo.add",
    "crm.todo.create",
    "crm.activity.todo.add",
    "crm.event.add",
    "calendar.event.add",
    "calendar.add",
    "calendar.event.add",
    "calendar.event.create",
    "calendar.event.add",
    "calendar.events.list",
    "calendar.event.get",
    "crm.pipeline.list",
    "crm.category.list",
    "crm.funnel.list",
    "crm.category.list",
    "crm.stage.list",
    "crm.status.list",
    "crm.invoice.create",
    "crm.item.add",
    "crm.product.search",
    "catalog.product.list",
    "crm.duplicate.find",
    "crm.duplicate.findbycomm",
    "user.list",
    "user.get",
    "users.get",
    "user.get",
    "user.find",
    "user.search",
    "employee.list",
    "user.get",
    "im.send",
    "im.message.add",
    "im.message.send",
    "im.message.add",
    "chat.send",
    "im.message.add",
]
PAIRS = list(zip(WRITTEN[::2], WRITTEN[1::2], strict=True))


@pytest.mark.parametrize(("written", "meant"), PAIRS)
def test_a_wrong_name_of_a_model_leads_to_the_method_that_was_meant(written: str, meant: str) -> None:
    """«crm.task.add» led to crm.status.add: names were compared letter by letter."""
    assert CATALOGUE.find(meant) is not None
    assert CATALOGUE.find(written) is None
    assert find_nearest_method(written, CATALOGUE) == meant


@pytest.mark.parametrize(
    "written", ["", ".", "by", "data", "mongo.insert_one", "http.get", "sql.query", "disk.upload", "telegram.send", "crm.report.get", "a" * 90]
)  # fmt: skip
def test_a_name_that_means_nothing_here_leads_nowhere(written: str) -> None:
    assert find_nearest_method(written, CATALOGUE) == ""


@pytest.mark.long
@given(st.sampled_from(list(CATALOGUE)), st.sampled_from(["add", "create", "update", "list", "find", "close", "send", "set", "x"]))
def test_a_deletion_is_never_suggested_to_who_wrote_of_none(method: object, last: str) -> None:
    family = str(getattr(method, "name", "")).rpartition(".")[0]
    found = CATALOGUE.find(find_nearest_method(f"{family}.{last}", CATALOGUE))
    assert found is None or found.verb != "delete"


@pytest.mark.long
@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz.ABZ_0é-", max_size=40))
def test_no_name_breaks_it(written: str) -> None:
    """What is suggested exists."""
    found = find_nearest_method(written, CATALOGUE)
    assert not found or CATALOGUE.find(found) is not None
