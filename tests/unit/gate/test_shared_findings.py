"""What the checks of one judgement share: it holds for the very call, value and record with which it was found, and for no other."""

from dataclasses import replace

from orchestrator.gate.call.critical_fields import has_value
from orchestrator.gate.call.effect import Facts
from orchestrator.gate.decide.value_kinds import find_written_values, list_written_values
from tests.unit.gate.gate_kit import DEAL, call

SUM = call("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 150_000}})
KEPT, CHANGED = {**DEAL, "OPPORTUNITY": "150000.00"}, {**DEAL, "OPPORTUNITY": "90000.00"}


def test_a_record_that_was_read_again_is_compared_again() -> None:
    """Whether a record has the value already is said of the record that is given, whatever was asked about the call before."""
    said = [has_value(SUM, "OPPORTUNITY", 150_000, record) for record in (KEPT, CHANGED, KEPT, None, CHANGED)]
    assert said == [True, False, True, False, False]


def test_another_value_of_the_field_is_compared_too() -> None:
    """The same call may be asked about a value that it does not write, such as one without its currency."""
    assert [has_value(SUM, "OPPORTUNITY", value, KEPT) for value in (150_000, 90_000, "150000.00", 150_000)] == [True, False, True, True]


def test_written_values_are_shared_while_the_record_is_the_same() -> None:
    """The values found while the facts were read are those that are checked; with a later record they are found anew."""
    facts = Facts(records={("deal", 481): CHANGED})
    found = find_written_values(SUM, facts)
    shared = replace(facts, found_values=(found,))
    assert [one.name for one in found.values] == ["OPPORTUNITY"]
    assert list_written_values(SUM, shared) is found.values
    assert list_written_values(SUM, replace(shared, records={("deal", 481): KEPT})) == ()


def test_another_call_shares_nothing() -> None:
    """A call that was changed since, such as by merged phones, is looked through by itself."""
    facts = Facts(records={("deal", 481): CHANGED})
    shared = replace(facts, found_values=(find_written_values(SUM, facts),))
    other = replace(SUM, params={"id": 481, "fields": {"PROBABILITY": 50}})
    assert [one.name for one in list_written_values(other, shared)] == ["PROBABILITY"]
