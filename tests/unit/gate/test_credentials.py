"""A write of passwords, rights or access is refused by name, whoever asks and whatever the policy opens."""

from typing import Any

import pytest

from bot.i18n.translate import Translator
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.call.reasons import ask
from tests.unit.gate.gate_kit import effect, judged, said
from tests.unit.spine_kit import World, message, reply, step

PASSWORDS: list[tuple[str, dict[str, Any]]] = [
    ("user.update", {"ID": 7, "PASSWORD": "тайна"}),
    ("user.update", {"ID": 7, "password": "тайна", "NAME": "Анна"}),
    ("user.update", {"ID": 7, "CONFIRM_PASSWORD": "тайна"}),
    ("user.add", {"EMAIL": "a@example.ru", "PASSWORD": "тайна"}),
    ("batch", {"cmd": {"a": "crm.deal.get?id=481", "b": "user.update?ID=7&PASSWORD=тайна"}}),
]
RIGHTS: list[tuple[str, dict[str, Any]]] = [
    ("user.update", {"ID": 7, "GROUP_ID": [1]}),
    ("user.add", {"EMAIL": "a@example.ru", "GROUP_ID": ["1"]}),
    ("disk.folder.addsubfolder", {"id": 5, "data": {"NAME": "Договоры"}, "rights": [{"TASK_ID": 9, "ACCESS_CODE": "U8"}]}),
    ("im.chat.setOwner", {"CHAT_ID": 5, "USER_ID": 8}),
    ("user.update", {"ID": 8, "ADMIN_MODE": "Y"}),
    ("disk.folder.sharetouser", {"id": 5, "userId": 8, "taskName": "disk_access_edit"}),
    ("task.stages.add", {"fields": {"TITLE": "На проверке", "ENTITY_ID": 5}, "isAdmin": True}),
    ("batch", {"cmd": {"a": "user.update?ID=7&GROUP_ID[0]=1"}}),
]
OPEN = Policy(open_methods=["user.update", "user.add", "disk.folder.addsubfolder", "entity.rights"])


@pytest.mark.parametrize("policy", [None, OPEN], ids=["shipped", "opened"])
@pytest.mark.parametrize(("method", "params"), PASSWORDS)
def test_a_password_is_set_by_nobody(method: str, params: dict[str, Any], policy: Policy | None) -> None:
    assert said(judged(effect(method, params), policy=policy)) == ["gate-password"]


@pytest.mark.parametrize("policy", [None, OPEN], ids=["shipped", "opened"])
@pytest.mark.parametrize(("method", "params"), RIGHTS)
def test_rights_and_access_are_given_by_nobody(method: str, params: dict[str, Any], policy: Policy | None) -> None:
    assert said(judged(effect(method, params), policy=policy)) == ["gate-access-rights"]


@pytest.mark.parametrize("policy", [None, OPEN], ids=["shipped", "opened"])
def test_a_method_of_access_is_refused_by_name_too(policy: Policy | None) -> None:
    assert said(judged(effect("entity.rights", {"ENTITY": "dishes", "ACCESS": {"U8": "W"}}), policy=policy)) == ["gate-access-rights"]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("user.update", {"ID": 7, "ACTIVE": "N"}),
        ("user.update", {"ID": 7, "WORK_POSITION": "Директор"}),
        ("crm.deal.update", {"id": 481, "fields": {"UF_CRM_ACCESS": "с 9 до 18"}}),
        ("crm.item.update", {"entityTypeId": 2, "id": 481, "fields": {"ufCrm_RIGHTS": "водительские"}}),
        ("tasks.task.add", {"fields": {"TITLE": "Сменить пароль PASSWORD", "GROUP_ID": 5, "RESPONSIBLE_ID": 7}}),
        ("user.access", {"ACCESS": ["U7"]}),
    ],
)
def test_anything_else_is_judged_as_before(method: str, params: dict[str, Any]) -> None:
    assert not {"gate-password", "gate-access-rights"} & set(said(judged(effect(method, params))))


async def test_the_person_reads_why_and_no_card_comes(world: World) -> None:
    world.model.will(reply(step("user.update", {"ID": 7, "PASSWORD": "тайна"}), text="Меняю."), reply(text="Не могу."))
    await world.work(message("поменяй Анне пароль на «тайна»"))
    assert world.events("ConfirmationRequested") == []
    [refused] = world.events("StepRefused")
    assert refused.data["code"] == "gate-password"
    assert world.portal.ledger == []


@pytest.mark.parametrize("code", ["gate-password", "gate-access-rights"])
def test_both_languages_have_a_sentence(code: str) -> None:
    notice = ask(code, method="user.update")
    assert Translator("ru").translate_notice(notice).startswith(("Пароли", "Права"))
    assert "Bitrix24" in Translator("en").translate_notice(notice)
