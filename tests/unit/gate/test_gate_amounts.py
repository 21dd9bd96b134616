"""Limits on sums: at, just under and over, in other currencies, oddly written, by every method that can change a sum."""

from typing import Any

import pytest

from orchestrator.domain.effect import Effect
from orchestrator.domain.errors import SettingsError
from orchestrator.gate.call.effect import Facts, Refuse
from orchestrator.gate.call.policy import Policy, load_policy
from tests.unit.gate.gate_kit import ANNA, DEAL, FIRST, LEAD, RECORDS, effect, judged, said

LIMIT = 2_000_000
IN_DOLLARS = {**DEAL, "CURRENCY_ID": "USD", "OPPORTUNITY": "10000.00"}


def limited(**more: Any) -> Policy:
    return Policy.model_validate({"rules": [{"entity": "deal", "above": LIMIT, "then": "lead", "why": "Дороже 2 млн"}], **more})


def both(**more: Any) -> Policy:
    return Policy.model_validate({"ask_above": LIMIT, "four_eyes_above": LIMIT, **more})


def goes_to_a_lead(what: Effect, policy: Policy, *, record: dict[str, Any] | None = None, **more: Any) -> bool:
    records = {**RECORDS, ("deal", 481): record or DEAL}
    verdict = judged(what, actor=more.get("actor", ANNA), policy=policy, facts=Facts(records=records, first_stages=FIRST))
    return isinstance(verdict, Refuse) or bool(getattr(verdict, "lead", False))


def update(**fields: Any) -> Effect:
    return effect("crm.deal.update", {"id": 481, "fields": fields})


def rows(*pairs: tuple[Any, Any], method: str = "crm.deal.productrows.set") -> Effect:
    listed = [{"PRODUCT_NAME": "Стол", "PRICE": price, "QUANTITY": quantity} for price, quantity in pairs]
    if method == "crm.deal.productrows.set":
        return effect(method, {"id": 481, "rows": listed})
    small = [{"productName": "Стол", "price": price, "quantity": quantity} for price, quantity in pairs]
    if method == "crm.item.productrow.set":
        return effect(method, {"ownerType": "D", "ownerId": 481, "productRows": small})
    return effect("crm.item.productrow.add", {"fields": {"ownerType": "D", "ownerId": 481, **small[0]}})


AMOUNTS: list[tuple[Any, bool]] = [
    (1_999_999.99, False),
    (2_000_000, False),
    ("2000000.00", False),
    ("2000000.01", True),
    (2_000_001, True),
    (20_000_000, True),
    (-1_000_000, False),
    (-2_000_001, True),
    ("1e9", True),
    ("1e1", True),  # no number that the portal and we would read alike
    ("1 000 000", True),
    ("2,5", True),
    ("NaN", True),
    ("$result[a]", True),
    ("Infinity", True),
    ([3_000_000], True),
    ({"value": 1}, True),
    (True, True),
    ("٣", True),
    (10**16, True),
]


@pytest.mark.parametrize(("amount", "over"), AMOUNTS)
@pytest.mark.parametrize("policy", [limited(), both()], ids=["rule", "keys"])
def test_a_sum_is_above_the_limit_or_it_is_not_and_what_cannot_be_read_is(amount: Any, policy: Policy, *, over: bool) -> None:
    """By either family of methods, and in a batch."""
    assert goes_to_a_lead(update(OPPORTUNITY=amount), policy) is over
    other = effect("crm.item.update", {"entityTypeId": 2, "id": 481, "fields": {"opportunity": amount}})
    assert goes_to_a_lead(other, policy) is over
    new = effect("crm.deal.add", {"fields": {"TITLE": "x", "OPPORTUNITY": amount}})
    assert goes_to_a_lead(new, policy) is over
    if isinstance(amount, str | int) and not isinstance(amount, bool):
        batch = {"cmd": {"a": "user.current", "b": f"crm.deal.update?id=481&fields[OPPORTUNITY]={amount}"}}
        assert goes_to_a_lead(effect("batch", batch), policy) is over


@pytest.mark.parametrize("policy", [limited(), both()], ids=["rule", "keys"])
def test_an_empty_sum_is_none(policy: Policy) -> None:
    """A million stands on the record, so nothing is above two."""
    for empty in (None, ""):
        assert not goes_to_a_lead(update(OPPORTUNITY=empty), policy)


CURRENCIES: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any], bool]] = [
    # what is written, the record, keys of the policy, above
    ({"OPPORTUNITY": 30_000}, IN_DOLLARS, {}, True),  # no rate: nobody can say
    ({"OPPORTUNITY": 21_000}, IN_DOLLARS, {"rates": {"USD": 95}}, False),
    ({"OPPORTUNITY": 22_000}, IN_DOLLARS, {"rates": {"USD": 95}}, True),
    ({"OPPORTUNITY": 22_000}, IN_DOLLARS, {"rates": {"EUR": 95}}, True),
    ({"OPPORTUNITY": 22_000}, IN_DOLLARS, {"currency": "USD"}, False),
    ({"OPPORTUNITY": 1_500_000, "CURRENCY_ID": "USD"}, DEAL, {}, True),
    ({"CURRENCY_ID": "USD"}, DEAL, {}, True),  # the same figure, another sum
    ({"CURRENCY_ID": "USD"}, DEAL, {"rates": {"USD": 95}}, True),
    ({"CURRENCY_ID": "AMD"}, DEAL, {"rates": {"AMD": "0.25"}}, False),
    ({"CURRENCY_ID": "RUB", "OPPORTUNITY": 5}, {**DEAL, "CURRENCY_ID": "AMD"}, {"rates": {"AMD": "0.25"}}, False),
    ({"CURRENCY_ID": "RUB", "OPPORTUNITY": 5}, {**DEAL, "CURRENCY_ID": "AMD"}, {}, True),  # what stands there may be worth more
    ({"CURRENCY_ID": "$result[a]"}, DEAL, {"rates": {"USD": 95}}, True),
    ({"CURRENCY_ID": "usd", "OPPORTUNITY": 5}, DEAL, {"rates": {"USD": 95}}, True),
    ({"CURRENCY_ID": "", "OPPORTUNITY": 5}, DEAL, {}, False),
    ({"OPPORTUNITY": 0, "CURRENCY_ID": "USD"}, {**DEAL, "OPPORTUNITY": "0"}, {}, False),
]


@pytest.mark.parametrize(("written", "record", "keys", "over"), CURRENCIES)
@pytest.mark.parametrize("shape", [limited, both], ids=["rule", "keys"])
def test_a_sum_of_another_currency_is_above_the_limit_unless_a_rate_says_otherwise(
    shape: Any, written: dict[str, Any], record: dict[str, Any], keys: dict[str, Any], *, over: bool
) -> None:
    """A limit is one of its currency; a figure alone says nothing."""
    assert goes_to_a_lead(update(**written), shape(**keys), record=record) is over


def test_a_rule_may_name_a_currency_of_its_own() -> None:
    """A limit in dollars for deals in dollars; deals in roubles are compared by the rate."""
    rule = {"entity": "deal", "above": 20_000, "currency": "USD", "then": "lead", "why": "Дороже 20 тысяч долларов"}
    for rates, amount, record, over in (
        ({}, 20_000, IN_DOLLARS, False),
        ({}, 20_001, IN_DOLLARS, True),
        ({}, 5, DEAL, True),
        ({"USD": 100}, 2_000_000, DEAL, False),
        ({"USD": 100}, 2_000_001, DEAL, True),
    ):
        policy = Policy.model_validate({"rules": [rule], "rates": rates})
        assert goes_to_a_lead(update(OPPORTUNITY=amount), policy, record=record) is over, (rates, amount)


@pytest.mark.parametrize("method", ["crm.deal.productrows.set", "crm.item.productrow.set", "crm.item.productrow.add"])
@pytest.mark.parametrize(
    ("pairs", "over"),
    [
        ([(100_000, 5)], False),
        ([(100_000, 25)], True),
        ([(1_000_000, 2), (1, 1)], True),
        ([("much", 1)], True),
        ([("$result[a]", 1)], True),
        ([(-3_000_000, 1)], True),
        ([(3_000_000, None)], True),
    ],
)
def test_rows_of_products_make_the_sum_of_the_deal(method: str, pairs: list[tuple[Any, Any]], *, over: bool) -> None:
    """Price by quantity, all rows together; of a row that is added, with what the deal has already."""
    if method.endswith(".add") and len(pairs) > 1:
        pairs = [(2_000_001, 1)]
    for policy in (limited(), both()):
        assert goes_to_a_lead(rows(*pairs, method=method), policy, actor=ANNA) is over
    lead = Policy.model_validate({"rules": [{"method": "crm.deal.update", "field": "OPPORTUNITY", "then": "lead", "why": "Суммы"}]})
    assert goes_to_a_lead(rows((100_000, 5), method=method), lead)


def test_a_row_that_is_added_counts_with_the_sum_that_stands() -> None:
    """1 000 000 there, 1 000 001 more."""
    assert not goes_to_a_lead(rows((1_000_000, 1), method="crm.item.productrow.add"), limited())
    assert goes_to_a_lead(rows((1_000_001, 1), method="crm.item.productrow.add"), limited())


def test_leaving_the_sum_to_the_products_may_be_any_sum() -> None:
    """A sum that was entered by hand gives way to one that nobody has read."""
    by_hand = {**DEAL, "IS_MANUAL_OPPORTUNITY": "Y"}
    assert goes_to_a_lead(update(IS_MANUAL_OPPORTUNITY="N"), limited(), record=by_hand)
    assert not goes_to_a_lead(update(IS_MANUAL_OPPORTUNITY="N"), limited(), record={**DEAL, "IS_MANUAL_OPPORTUNITY": "N"})
    assert not goes_to_a_lead(update(IS_MANUAL_OPPORTUNITY="Y"), limited())


@pytest.mark.parametrize(
    "what",
    [
        effect("crm.item.update", {"entityTypeId": 2, "id": 481, "fields": {"opportunity": 5}}),
        rows((5, 1)),
        rows((5, 1), method="crm.item.productrow.set"),
        rows((5, 1), method="crm.item.productrow.add"),
        effect("batch", {"cmd": {"a": "crm.item.update?entityTypeId=2&id=481&fields[opportunity]=5"}}),
    ],
)
def test_a_method_that_is_refused_or_asks_has_no_other_door(what: Effect) -> None:
    """`refuse_methods` and `ask_methods` hold for the same change by another method."""
    for actor in (ANNA, LEAD):
        refused = judged(what, actor=actor, policy=Policy(refuse_methods=frozenset({"crm.deal.update"})))
        assert isinstance(refused, Refuse)
        assert said(refused) == ["gate-policy-refuses"]
        assert "gate-policy-method" in said(judged(what, actor=actor, policy=Policy(ask_methods=frozenset({"CRM.deal.update"}))))


def test_what_opens_a_deletion_opens_no_other_one() -> None:
    """Only what demands more reaches further."""
    what = effect("crm.item.delete", {"entityTypeId": 2, "id": 481})
    assert said(judged(what, policy=Policy(open_methods=frozenset({"crm.deal.delete"})))) == ["gate-delete"]


@pytest.mark.parametrize(
    ("what", "taps", "code"),
    [
        (rows((1_000_000, 10)), 2, "gate-sum-jump"),
        (rows((900_000, 10)), 1, ""),
        (rows((5, 1), method="crm.item.productrow.set"), 2, "gate-sum-jump"),
        (rows((9_000_000, 1), method="crm.item.productrow.add"), 2, "gate-sum-jump"),
        (update(CURRENCY_ID="USD"), 2, "gate-sum-currency"),
        (update(CURRENCY_ID="USD", OPPORTUNITY=10_000), 2, "gate-sum-currency"),
        (update(OPPORTUNITY="1e9"), 2, "gate-sum-lost"),
        (update(TITLE="x", CURRENCY_ID="RUB"), 1, ""),
    ],
)
def test_tenfold_sums_ask_twice_however_they_come_about(what: Effect, taps: int, code: str) -> None:
    """By rows of products, by another currency, by what is no number."""
    verdict = judged(what, actor=ANNA, policy=Policy(sum_jump=10, ask_people=frozenset({"anna"})))
    assert verdict.taps == taps
    assert [reason.code for reason in verdict.reasons if reason.code.startswith("gate-sum")] == ([code] if code else [])


def test_a_known_rate_says_whether_a_sum_of_another_currency_is_a_jump() -> None:
    """Ten thousand dollars are about as much as a million roubles."""
    policy = Policy.model_validate({"sum_jump": 10, "rates": {"USD": 95}})
    same = judged(update(CURRENCY_ID="USD", OPPORTUNITY=10_000), actor=ANNA, policy=policy)
    assert (same.taps, [code for code in said(same) if code.startswith("gate-sum")]) == (1, [])
    more = judged(update(CURRENCY_ID="USD"), actor=ANNA, policy=policy)
    assert [reason.args for reason in more.reasons if reason.code == "gate-sum-currency"] == [
        {"field": "OPPORTUNITY", "before": "1 000 000 RUB", "after": "1 000 000 USD"}
    ]


def test_the_reason_says_both_sums_with_their_currencies() -> None:
    """As people write them."""
    verdict = judged(update(OPPORTUNITY="2500000.50"), actor=ANNA, policy=both())
    args = [reason.args for reason in getattr(verdict, "reasons", ()) if reason.code == "gate-four-eyes"]
    assert args == [{"amount": "2 500 000.50 RUB", "limit": "2 000 000 RUB"}]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("currency: rub", "line 1: `currency`"),
        ("rates: {USD: 0}", "rates.USD"),
        ("rates: {USD: .nan}", "rates.USD"),
        ("rates: {dollar: 95}", "rates.dollar"),
        ("rules: [{entity: deal, currency: USD, then: ask, why: x}]", "rules.0"),
        ("four_eyes_above: .inf", "four_eyes_above"),
        ("rules: [{above: 2 000 000, then: lead, why: x}]", "rules.0.above"),
        ("rules: [{above: -1, then: lead, why: x}]", "rules.0.above"),
    ],
)
def test_a_faulty_currency_or_limit_is_told_with_its_place(tmp_path: Any, text: str, told: str) -> None:
    """Nothing is guessed."""
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        load_policy(path)
    assert told in caught.value.reason
