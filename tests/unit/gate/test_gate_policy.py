"""The policy file: the shipped one loads, every mistake is named at once with its place and its cure."""

from decimal import Decimal
from pathlib import Path

import pytest
from gate_kit import ROOT, catalogue

from bitrix.catalogue import load_catalogue
from orchestrator.errors import SettingsError
from orchestrator.gate.hosts import host_of, is_listed
from orchestrator.gate.policy import Policy, check_policy, load_policy


def _written(folder: Path, text: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_shipped_policy_opens_nothing() -> None:
    """Without a file of the owner's, the strictest rules hold."""
    assert load_policy(None) == Policy()
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
    assert load_policy(_written(tmp_path, "# nothing yet\n")) == Policy()


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
    assert any("line 4: `catalogue.0.clases`: no such key" in line and "'classes'" in line for line in told)
    assert any("line 4: `catalogue.0.classes`" in line for line in told)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a: [", "not valid YAML"),
        ("- x\n", "must be a map"),
        ("x", "must be a map"),
        ("ask_above: 1\nask_above: 2\n", "line 2: `ask_above` is given twice"),
    ],
)
def test_a_file_that_is_no_policy_is_one_clear_sentence(tmp_path: Path, text: str, part: str) -> None:
    """No stack trace, no path of the machine."""
    with pytest.raises(SettingsError, match=part) as caught:
        load_policy(_written(tmp_path, text))
    assert str(tmp_path) not in caught.value.reason


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
    assert host_of(address) == host
    assert not is_listed(address, ["", "b.io"])
    assert is_listed(address, ["A.IO"]) is (host == "a.io")
