"""The policy file: the shipped one loads, every mistake is named at once with its place and its cure."""

from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from bitrix.catalogue.catalogue import load_catalogue
from orchestrator.domain.errors import SettingsError
from orchestrator.gate.call.policy import BulkLimits, Caps, Policy, check_policy, load_policy, load_with_places
from orchestrator.gate.call.policy_format import DefinitionRoles
from orchestrator.gate.decide.refusals import is_listed_host, parse_host
from tests.unit.gate.gate_kit import ROOT, catalogue


def _written(folder: Path, text: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_shipped_policy_opens_nothing() -> None:
    """Without a file of the owner's, the strictest rules hold, sums that jump are asked about twice, and there is a cap for a day.

    A person may read the customers of their open deals, and delete the comments that they wrote.
    """
    rights = {"read_linked_customers": True, "delete_own_comments": True}
    bulk = BulkLimits(records={"manager": 50, "lead": 500, "admin": 500})
    shipped = Policy(sum_jump=10, caps=Caps(records_per_batch=50, writes_per_day=200), bulk=bulk, **rights)
    assert load_policy(None) == shipped
    assert load_policy(None).digest == shipped.digest != Policy().digest
    assert check_policy(load_policy(None), catalogue()) == ()


def test_a_file_of_the_owner_replaces_keys(tmp_path: Path) -> None:
    """What it does not name stays as shipped."""
    path = _written(tmp_path, "refuse_methods: [crm.deal.add]\nask_above: 100000.50\nhalt_on_block: true\ntelegram_chats: [-100, 5]\n")
    policy = load_policy(path)
    assert policy.refuse_methods == {"crm.deal.add"}
    assert policy.ask_above == Decimal("100000.50")
    assert policy.halt_on_block
    assert policy.telegram_chats == {-100, 5}
    assert policy.open_methods == frozenset()


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    """Comments only are fine."""
    assert load_policy(_written(tmp_path, "# nothing yet\n")) == load_policy(None)


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    """What, where, and how to mend it, for all of them."""
    text = (
        "refuse_method: [x]\nask_above: -5\nopen_kinds: [telegraf]\ncatalogue:\n  - {name: x.y, clases: [R], verb: get, idempotent: true}\n"
    )
    with pytest.raises(SettingsError) as caught:
        load_policy(_written(tmp_path, text))
    told = caught.value.reason.splitlines()
    assert len(told) == 5
    assert "POLICY_FILE mine.yaml: line 1: `refuse_method`: no such key; remove it. Did you mean 'refuse_methods'?" in told
    assert any(line.startswith("POLICY_FILE mine.yaml: line 2: `ask_above`") and "-5" in line for line in told)
    assert any("line 3: `open_kinds" in line and "telegraf" in line for line in told)
    assert any("line 5: `catalogue.0.clases`: no such key" in line and "'classes'" in line for line in told)
    assert any("line 5: `catalogue.0.classes`" in line for line in told)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a: [", "not valid YAML"),
        ("- x\n", "must be a map"),
        ("x", "must be a map"),
        ("ask_above: 1\nask_above: 2\n", "line 2: `ask_above` is given twice"),
        ("rules: &all [*all]\n", "not valid YAML"),
    ],
)
def test_a_file_that_is_no_policy_is_one_clear_sentence(tmp_path: Path, text: str, part: str) -> None:
    """No stack trace, no path of the machine."""
    with pytest.raises(SettingsError, match=part) as caught:
        load_policy(_written(tmp_path, text))
    assert str(tmp_path) not in caught.value.reason


def test_hosts_are_checked(tmp_path: Path) -> None:
    """A host with a path or a pattern would open nothing, or more than was meant."""
    with pytest.raises(SettingsError) as error:
        load_policy(_written(tmp_path, "http_hosts: [api.example.com, '*.example.com']\nhttp_private_hosts: [erp.local/api]\n"))
    policy = load_policy(_written(tmp_path, "http_hosts: ['http://127.0.0.1:8080']\nopen_kinds: [http]\n"))
    assert ["*.example.com" in error.value.reason, "erp.local/api" in error.value.reason] == [True, True]
    assert policy.open_kinds == {"http"}


def test_a_missing_or_unreadable_file_is_told(tmp_path: Path) -> None:
    """The name of the setting and of the file stand in the sentence."""
    with pytest.raises(SettingsError, match=r"POLICY_FILE gone\.yaml: cannot be read"):
        load_policy(tmp_path / "gone.yaml")
    (tmp_path / "bad.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError, match="UTF-8"):
        load_policy(tmp_path / "bad.yaml")


def test_a_misspelt_method_in_a_list_is_found() -> None:
    """A refusal with a typing error would refuse nothing."""
    faults = check_policy(Policy(refuse_methods=frozenset({"crm.deal.detele"}), ask_methods=frozenset({"zzz"})), catalogue())
    assert faults == (
        "policy: refuse_methods: 'crm.deal.detele' is not in the catalogue. Did you mean 'crm.deal.delete'?",
        "policy: ask_methods: 'zzz' is not in the catalogue.",
    )


def test_a_method_of_another_kind_may_be_opened_by_name() -> None:
    """mongo.delete_one is known although it is no portal method."""
    assert check_policy(Policy(open_methods=frozenset({"mongo.delete_one"})), catalogue()) == ()


def test_extra_rows_reach_the_catalogue(tmp_path: Path) -> None:
    """The policy can list a further method."""
    policy = load_policy(_written(tmp_path, "catalogue:\n  - {name: my.method, classes: [W], verb: action, idempotent: false}\n"))
    extended = load_catalogue(ROOT / "data" / "catalogue", [row.model_dump() for row in policy.catalogue])
    assert extended.find("MY.method")


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://a.io", "a.io"),
        ("https://A.io./x?y#z", "a.io"),
        ("https://a.io:443/", "a.io"),
        ("https://a.io:99999999/", ""),
        ("https://a.io:70000/", "a.io"),
        ("ftp://a.io", ""),
        ("https:///x", ""),
        ("https://user@a.io", ""),
        ("https://a.io/ x", ""),
        ("https://.", ""),
        (None, ""),
    ],
)
def test_the_host_of_an_address(address: str | None, host: str) -> None:
    """Only a plain https address has one."""
    assert parse_host(address) == host
    assert not is_listed_host(address, ["", "b.io"])
    assert is_listed_host(address, ["A.IO"]) is (host == "a.io")


RULES = """rules:
  - {entity: deal, field: OPPORTUNITY, above: 2000000, role: manager, then: lead, why: Дороже 2 млн}
  - method: [crm.deal.update, crm.contact.*]
    person: tg:1007
    then: ask_twice
    why: Проверьте ещё раз
caps: {records_per_batch: 20, writes_per_day: 100}
undo_for: 90m
sum_jump: null
"""


def test_rules_caps_and_times_are_read(tmp_path: Path) -> None:
    """One word or several, sums, durations; what stands where is known by its line."""
    policy, places = load_with_places(_written(tmp_path, RULES))
    assert [(rule.then, rule.method, rule.entity, rule.person) for rule in policy.rules] == [
        ("lead", (), ("deal",), ()),
        ("ask_twice", ("crm.deal.update", "crm.contact.*"), (), ("tg:1007",)),
    ]
    assert policy.rules[0].above == 2_000_000
    assert (policy.caps, policy.undo_for, policy.sum_jump) == (Caps(records_per_batch=20, writes_per_day=100), timedelta(minutes=90), None)
    assert places["rules", 1, "then"] == ("mine.yaml", 5)
    assert check_policy(policy, catalogue(), places) == ()


def test_every_mistake_of_the_rules_is_told_with_its_line_and_a_cure(tmp_path: Path) -> None:
    """Keys, words, empty rules, odd numbers and durations, all at once."""
    text = """rules:
  - {methods: crm.deal.update, then: aks, why: x}
  - {then: refuse, why: всё}
  - {role: manager, then: ask}
  - {role: bosses, then: ask, why: " "}
caps: {writes_a_day: 5, records_per_batch: 0}
undo_for: soon
"""
    with pytest.raises(SettingsError) as caught:
        load_policy(_written(tmp_path, text))
    told = caught.value.reason
    for part in (
        "line 2: `rules.0.methods`: no such key; remove it. Did you mean 'method'?",
        "line 2: `rules.0.then`",
        "Did you mean 'ask'?",
        "line 3: `rules.1`: names no condition",
        "line 4: `rules.2.why`: is missing; add it",
        "line 5: `rules.3.role.0`",
        "line 5: `rules.3.why`: one plain sentence is needed",
        "line 6: `caps.writes_a_day`: no such key; remove it. Did you mean 'writes_per_day'?",
        "line 6: `caps.records_per_batch`",
        "line 7: `undo_for`: a duration such as 1h, 90m or 2d is needed",
    ):
        assert part in told, part


def test_names_in_rules_that_fit_nothing_are_told(tmp_path: Path) -> None:
    """A misspelt rule would guard nothing."""
    text = """rules:
  - {method: crm.deal.updat, then: ask, why: a}
  - {entity: deals, then: ask, why: b}
  - {field: OPORTUNITY, then: ask, why: c}
  - {method: "crm.deal.*", entity: "item:177", field: UF_CRM_DISCOUNT, then: ask, why: d}
"""
    loaded = load_with_places(_written(tmp_path, text))
    assert check_policy(loaded.policy, catalogue(), loaded.places) == (
        "POLICY_FILE mine.yaml: line 2: `rules.0.method`: 'crm.deal.updat' fits no method of the catalogue. Did you mean 'crm.deal.update'?",
        "POLICY_FILE mine.yaml: line 3: `rules.1.entity`: 'deals' is no kind of record. Did you mean 'deal'?",
        "POLICY_FILE mine.yaml: line 4: `rules.2.field`: 'OPORTUNITY' is no field of the catalogue. Did you mean 'OPPORTUNITY'?",
    )


def test_roles_of_definitions_are_named_by_kind(tmp_path: Path) -> None:
    """What is left out stays with the program; a role that does not exist is a mistake, and so is a kind that the program does not have."""
    policy = load_policy(_written(tmp_path, "definitions: {scenario: {edit: lead, publish: [admin, lead]}, flow: {publish: []}}"))
    assert policy.definitions["scenario"] == DefinitionRoles(edit=frozenset({"lead"}), publish=frozenset({"lead", "admin"}))
    assert policy.definitions["flow"] == DefinitionRoles(edit=None, publish=frozenset())
    assert check_policy(policy, catalogue()) == ()
    [told] = check_policy(policy, catalogue(), kinds={"scenarios", "flow"})
    assert told == "policy: definitions.scenario: 'scenario' is no kind of definitions here. Did you mean 'scenarios'?"
    with pytest.raises(SettingsError, match=r"line 1: `definitions.flow.edit.0`.*'boss'"):
        load_policy(_written(tmp_path, "definitions: {flow: {edit: boss}}"))
