"""Who may edit, publish and name definitions."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from bitrix.catalogue.catalogue import load_catalogue
from bot.composition.installation import DATA
from orchestrator.definitions.kinds import DefinitionKind, find_writes
from orchestrator.definitions.rules import (
    Editor,
    KindRoles,
    NotAllowed,
    check_editor,
    check_publisher,
    check_reader,
    check_two_people,
    find_critical_writes,
    find_key_mistake,
)
from orchestrator.domain.actor import Actor
from orchestrator.gate.call.effect_kinds import find_method_classes

KIND = DefinitionKind(name="scenario")
ROLES = KindRoles(edit=frozenset({"lead", "admin"}), publish=frozenset({"admin"}))
VERA = Actor(key="tg:1006", name="Вера", role="lead", bitrix_user_id=6)
OLEG = Actor(key="http:oleg", name="Олег", role="admin", bitrix_user_id=5)
TERMINAL = Actor(key="cli:root", name="root", role="admin")
DELETES = [("bitrix", "crm.deal.delete")]


@dataclass(frozen=True)
class By:
    """Who wrote a text."""

    key: str
    user: int | None = None


def editor(actor: Actor, *, customers: bool = False) -> Editor:
    return Editor(actor=actor, via="http", writes_for_customers=customers)


def classes(kind: str, method: str) -> frozenset[str] | None:
    return find_method_classes(load_catalogue(DATA / "catalogue"), kind, method)


@pytest.mark.req("S002-A3")
@pytest.mark.parametrize("key", ["a", "9", "welcome_new-client", "A" * 64, "x_", "0190aaaa-0000-7000-8000-000000000001"])
def test_a_slug_and_a_uuid_are_keys(key: str) -> None:
    assert find_key_mistake(key) is None


@pytest.mark.req("S002-A3")
@pytest.mark.parametrize(("key", "suggestion"), [
    ("", ""),
    ("A" * 65, "A" * 64),
    ("-a", "a"),
    ("_a", "a"),
    ("wеlcome", "w-lcome"),  # a Cyrillic е
    ("ａ", ""),
    ("٣", ""),
    ("..", ""),
    ("../etc", "etc"),
    ("a/b", "a-b"),
    ("a\x00b", "a-b"),
    ("a\n", "a"),
    ("a b", "a-b"),
    ("\ud800", ""),
])  # fmt: skip
def test_what_looks_like_a_key_or_leads_elsewhere_is_none(key: str, suggestion: str) -> None:
    """Look-alike letters, paths, NUL and line ends are refused, with what may be meant."""
    found = find_key_mistake(key)
    assert found is not None
    assert (found.code, found.severity, found.suggestion) == ("finding-definition-key", "error", suggestion)
    found.message.encode()  # whatever was given, the sentence can be stored and sent


def test_roles_are_of_the_kind_and_the_sentence_names_them() -> None:
    check_editor(editor(VERA), KIND, ROLES)
    check_publisher(editor(OLEG), KIND, ROLES)
    with pytest.raises(NotAllowed, match="Only administrators may publish definitions of kind scenario, and tg:1006 has the role lead"):
        check_publisher(editor(VERA), KIND, ROLES)
    anna = editor(Actor(key="tg:1007", name="Анна"))
    for check in (check_editor, check_reader):
        with pytest.raises(NotAllowed, match="Only leads and administrators may"):
            check(anna, KIND, ROLES)


def test_a_token_that_passes_on_customers_words_neither_reads_nor_writes_any() -> None:
    """What customers write is never executed, whatever the role of the token."""
    for check in (check_editor, check_publisher, check_reader):
        with pytest.raises(NotAllowed, match="customers") as refused:
            check(editor(OLEG, customers=True), KIND, ROLES)
        assert refused.value.code == "not_for_customers"


def test_who_may_approve_nothing_publishes_nothing() -> None:
    with pytest.raises(NotAllowed, match="may not approve"):
        check_publisher(editor(OLEG.model_copy(update={"may_approve": False})), KIND, ROLES)


@pytest.mark.parametrize(("writes", "critical"), [
    ([("bitrix", "crm.deal.update"), ("bitrix", "crm.deal.list"), ("mongo", "mongo.find_one")], ()),
    (
        [("bitrix", "CRM.Deal.Delete"), ("bitrix", "crm.deal.update"), ("bitrix", "crm.deal.delete")],
        ("CRM.Deal.Delete", "crm.deal.delete"),
    ),
    ([("bitrix", "crm.activity.add")], ("crm.activity.add",)),  # a call of it may be a letter
    ([("telegram", "telegram.send_message")], ("telegram.send_message",)),
    ([("mongo", "delete_one")], ("delete_one",)),
    ([("bitrix", "batch")], None),
    ([("bitrix", "crm.deal.update"), ("bitrix", "no.such.method")], None),
    ([("odd", "crm.deal.list")], None),
    (None, None),
    ([], ()),
])  # fmt: skip
def test_classes_of_methods_say_what_needs_two_people(writes: Sequence[tuple[str, str]] | None, critical: tuple[str, ...] | None) -> None:
    """A method that nobody knows, and a batch of any, cannot be told."""
    assert find_critical_writes(writes, classes) == critical


@pytest.mark.parametrize(("actor", "writers", "writes", "code"), [
    (OLEG, [By("http:oleg", 5)], [("bitrix", "crm.deal.update")], ""),
    (TERMINAL, [By("cli:root")], [], ""),
    (OLEG, [By("tg:1006", 6)], DELETES, ""),
    (OLEG, [By("tg:1006", 6), By("http:oleg", 5)], DELETES, "needs_two_people"),
    (OLEG, [By("tg:1005", 5)], DELETES, "needs_two_people"),  # the same employee under another account
    (OLEG, [By("http:oleg")], DELETES, "needs_two_people"),  # the same account, which was nobody's then
    (OLEG, [By("http:oleg", 5)], None, "needs_two_people"),
    (TERMINAL, [By("tg:1006", 6)], DELETES, "needs_a_person"),
    (TERMINAL, [By("tg:1006", 6)], None, "needs_a_person"),
])  # fmt: skip
def test_nobody_publishes_alone_what_deletes_pays_or_writes_outside(
    actor: Actor, writers: Sequence[By], writes: Sequence[tuple[str, str]] | None, code: str
) -> None:
    if not code:
        check_two_people(editor(actor), writers, writes, classes, ROLES)
        return
    with pytest.raises(NotAllowed) as refused:
        check_two_people(editor(actor), writers, writes, classes, ROLES)
    assert refused.value.code == code
    assert "administrators who are employees and none of its writers (" in refused.value.reason


def test_a_kind_that_cannot_tell_its_writes_counts_as_critical() -> None:
    """By default, and when its function fails."""

    def fail(_: object) -> Sequence[tuple[str, str]]:
        raise KeyError("steps")

    assert find_writes(KIND, {}) is None
    assert find_writes(DefinitionKind(name="scenario", list_writes=fail), {}) is None
