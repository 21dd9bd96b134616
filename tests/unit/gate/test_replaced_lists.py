"""A card of a call that replaces a list shows what is added, removed, changed and kept, and its totals."""

from collections.abc import Mapping
from typing import Any

import pytest

from bitrix.catalogue.catalogue import Method
from orchestrator.gate.call import fields, replaced_lists
from orchestrator.gate.call.before_image import build_before_image
from orchestrator.gate.call.effect import Facts
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.preview.preview import preview
from tests.unit.gate.gate_kit import CONTACT, DEAL, TASK, NoOwnNames, call, catalogue, effect, judged, said

ROWS = [
    {"ID": "1", "OWNER_ID": "481", "PRODUCT_ID": "0", "PRODUCT_NAME": "Монтаж", "PRICE": "777.00", "QUANTITY": "3.00", "TAX_RATE": None},
    {
        "ID": "2",
        "OWNER_ID": "481",
        "PRODUCT_ID": "15",
        "PRODUCT_NAME": "Кабель",
        "PRICE": "12.50",
        "QUANTITY": "10",
        "DISCOUNT_RATE": "5.00",
    },
]
LINKS = [{"CONTACT_ID": 43, "IS_PRIMARY": "Y", "SORT": 10, "ROLE_ID": 0}, {"CONTACT_ID": 44, "IS_PRIMARY": "N", "SORT": 20, "ROLE_ID": 0}]
MONTAGE = {"PRODUCT_NAME": "Монтаж", "PRICE": 777, "QUANTITY": 3}
KEEP_CABLE = {"PRODUCT_ID": 15, "PRICE": 12.5, "QUANTITY": 10, "DISCOUNT_RATE": 5}


class Names(NoOwnNames):
    """Names from memory."""

    async def find_user_name(self, user_id: int) -> str:
        return {6: "Вера", 7: "Анна", 8: "Борис"}[user_id]

    async def find_title(self, entity: str, record_id: int) -> str:
        return {43: "Иванов", 44: "Петрова", 45: "Сидоров", 5: "Вектор", 6: "Север"}[record_id]

    async def find_stage_name(self, entity: str, stage_id: str, category_id: int = 0) -> str:
        return stage_id

    async def find_category_name(self, category_id: int, entity: str = "deal") -> str:
        return str(category_id)

    def build_card_url(self, entity: str, record_id: int, *, user: int = 0) -> str:
        return ""


def with_lists(record: Mapping[str, Any], **lists: list[dict[str, Any]]) -> dict[str, Any]:
    """A record as the gate has it after the lists were read."""
    kinds: dict[str, Any] = {"rows": "products", "productRows": "products", "items": "contacts"}
    return {**record, **{name: replaced_lists.to_stored_rows(rows, kinds[name]) for name, rows in lists.items()}}


async def shown(method: str, params: dict[str, Any], record: Mapping[str, Any], target: tuple[str, int] = ("deal", 481)) -> list[Any]:
    """The lines of the card as (name, before, after), plain spaces."""
    found = await preview(call(method, params), Facts(records={target: record}), Names(), locale="ru")
    return [(line.name, line.before.replace("\u00a0", " "), line.after.replace("\u00a0", " ")) for line in found.lines]


@pytest.mark.req("G2")
async def test_product_rows_are_told_apart_with_the_total() -> None:
    """The example of the issue: one row is new, one goes, one changes, and the deal's products cost less."""
    old = [*ROWS, {"PRODUCT_NAME": "Настройка", "PRICE": "100", "QUANTITY": 2}]
    new = [{"PRODUCT_NAME": "Монтаж", "PRICE": 777, "QUANTITY": 2}, KEEP_CABLE, {"PRODUCT_NAME": "Доставка", "PRICE": "500"}]
    found = await shown("crm.deal.productrows.set", {"id": 481, "rows": new}, with_lists({**DEAL, "OPPORTUNITY": "2656.00"}, rows=old))
    assert found == [
        ("Товары — добавятся", "", "Доставка 1 × 500 ₽"),
        ("Товары — исчезнут", "", "Настройка 2 × 100 ₽"),
        ("Товары — изменятся", "", "Монтаж 3 × 777 ₽ → Монтаж 2 × 777 ₽"),
        ("Товары — останутся", "", "Кабель 10 × 12,50 ₽, скидка 5 %"),
        ("Сумма товаров", "2 656 ₽", "2 179 ₽"),
    ]


@pytest.mark.req("G2")
@pytest.mark.parametrize(
    ("new", "order"),
    [
        ([KEEP_CABLE, MONTAGE], ("Монтаж 3 × 777 ₽\nКабель 10 × 12,50 ₽", "Кабель 10 × 12,50 ₽\nМонтаж 3 × 777 ₽")),
        ([{**KEEP_CABLE, "PRICE": 13}, MONTAGE], ("Монтаж 3 × 777 ₽\nКабель 10 × 12,50 ₽", "Кабель 10 × 13 ₽\nМонтаж 3 × 777 ₽")),
        ([{**MONTAGE, "SORT": 20}, {**KEEP_CABLE, "SORT": 10}], ("Монтаж 3 × 777 ₽\nКабель 10 × 12,50 ₽", "Кабель 10 × 12,50 ₽\nМонтаж 3 × 777 ₽")),
        ([MONTAGE, {"PRODUCT_NAME": "Б", "PRICE": 1}, KEEP_CABLE], None),
        ([MONTAGE], None),
    ],
    ids=["order alone", "with a price", "by places", "one between them", "one left"],
)  # fmt: skip
async def test_rows_that_change_places_are_shown_in_both_orders(new: list[Any], order: tuple[str, str] | None) -> None:
    """Failed before: rows in another order stood there as «останутся», with no word of the order that would be sent."""
    found = await shown("crm.deal.productrows.set", {"id": 481, "rows": new}, with_lists({**DEAL, "OPPORTUNITY": "2456.00"}, rows=ROWS))
    assert [line[1:] for line in found if line[0] == "Товары — новый порядок"] == ([order] if order else [])


async def test_contacts_that_change_places_are_shown_in_both_orders() -> None:
    """The primary one always stands in front, so another primary one alone is no new order."""
    three = [*LINKS, {"CONTACT_ID": 45, "IS_PRIMARY": "N", "SORT": 30, "ROLE_ID": 0}]
    orders = []
    for numbers in ((43, 45, 44), (44, 43, 45)):
        items = [{"CONTACT_ID": number, "IS_PRIMARY": "Y" if number == numbers[0] else "N"} for number in numbers]
        found = await shown("crm.deal.contact.items.set", {"id": 481, "items": items}, with_lists(DEAL, items=three))
        orders.append([line[1:] for line in found if line[0] == "Контакты — новый порядок"])
    assert orders == [[("Иванов (главный в списке)\nПетрова\nСидоров", "Иванов (главный в списке)\nСидоров\nПетрова")], []]


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"DISCOUNT_TYPE_ID": 1}, "Б 1 × 1 ₽, вид скидки: суммой"),
        ({"DISCOUNT_TYPE_ID": 1, "DISCOUNT_RATE": 10}, "Б 1 × 1 ₽, вид скидки: суммой, скидка 10 %"),
        ({"DISCOUNT_TYPE_ID": 2, "DISCOUNT_RATE": 10}, "Б 1 × 1 ₽, скидка 10 %"),
        ({"TAX_RATE": 0}, "Б 1 × 1 ₽, налог 0 %"),
        ({"TAX_INCLUDED": "N"}, "Б 1 × 1 ₽, налог сверху, уже в этой цене"),
        ({"PRODUCT_ID": 15}, "Б 1 × 1 ₽, товар №15"),
    ],
)
async def test_what_a_new_row_says_of_discount_tax_and_product_is_shown(row: dict[str, Any], text: str) -> None:
    """Failed before: a lone kind of discount, a zero, a no, and the product behind another name were sent and not shown."""
    sent = {"PRODUCT_NAME": "Б", "PRICE": 1, **row}
    found = await shown("crm.deal.productrows.set", {"id": 481, "rows": [sent]}, with_lists(DEAL, rows=[]))
    assert found[0][2] == text


@pytest.mark.parametrize(
    ("method", "one", "lines"),
    [
        ("add", {"IS_PRIMARY": "N"}, [("Контакты — добавятся", "", "Сидоров (не главный)")]),
        ("add", {"IS_PRIMARY": "Y"}, [("Контакты — добавятся", "", "Сидоров (главный в списке)")]),
        ("delete", {}, [("Контакты — исчезнут", "", "Сидоров")]),
    ],
)
async def test_a_contact_is_named_though_the_list_was_not_read(method: str, one: dict[str, Any], lines: list[Any]) -> None:
    """Failed before: of a deal that another command finds, the card named no contact to unlink, and made each new one primary."""
    assert await shown(f"crm.deal.contact.{method}", {"id": 481, "fields": {"CONTACT_ID": 45, **one}}, DEAL) == lines


@pytest.mark.parametrize(
    ("manual", "told"),
    [
        ("N", ("Сумма станет по товарам", "1 000 000 ₽", "777 ₽")),
        ("Y", ("Сумма товаров", "0 ₽", "777 ₽")),
        (None, ("Сумма станет по товарам", "1 000 000 ₽", "777 ₽")),
    ],
)
async def test_a_sum_that_the_portal_will_compute_anew_is_told(manual: str | None, told: tuple[str, ...]) -> None:
    """A deal with a typed sum and no products gets the total of its first products instead."""
    record = with_lists({**DEAL, "IS_MANUAL_OPPORTUNITY": manual}, rows=[])
    found = await shown("crm.deal.productrows.set", {"id": 481, "rows": [{"PRODUCT_NAME": "Монтаж", "PRICE": 777}]}, record)
    assert found == [("Товары — добавятся", "", "Монтаж 1 × 777 ₽"), told]


async def test_an_empty_list_shows_every_row_that_goes() -> None:
    """In either family of methods, one row a line."""
    for method, params, name in (
        ("crm.deal.productrows.set", {"id": 481, "rows": []}, "rows"),
        ("crm.item.productrow.set", {"ownerType": "D", "ownerId": 481, "productRows": []}, "productRows"),
    ):
        found = await shown(method, params, with_lists({**DEAL, "OPPORTUNITY": 2456}, **{name: ROWS}))
        assert found[0] == ("Товары — исчезнут", "", "Монтаж 3 × 777 ₽\nКабель 10 × 12,50 ₽, скидка 5 %")
        assert found[1] == ("Сумма товаров", "2 456 ₽", "0 ₽")


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"PRODUCT_NAME": "А\nТовары — останутся: Б", "PRICE": 1}, "А ⏎ Товары — останутся: Б 1 × 1 ₽"),
        ({"PRODUCT_ID": 15, "PRICE": 1}, "Кабель 10 × 12,50 ₽, скидка 5 % → Кабель 1 × 1 ₽"),
        ({"PRODUCT_ID": 99, "PRICE": 1}, "товар №99 1 × 1 ₽"),
        ({"PRODUCT_NAME": "Б"}, "Б 1 × цена не указана"),
        ({"PRODUCT_NAME": "Б", "PRICE": 1, "TAX_RATE": 20, "TAX_INCLUDED": "Y"}, "Б 1 × 1 ₽, налог 20 %, налог в цене"),
        ({"PRODUCT_NAME": "Б", "PRICE": 1, "DISCOUNT_SUM": 3}, "Б 1 × 1 ₽, скидка 3 ₽"),
        ({"PRODUCT_NAME": "Б", "PRICE": 1, "ODD_ID": 7}, "Б 1 × 1 ₽, ODD_ID: 7"),
        ({"PRODUCT_NAME": "монтаж", "PRICE": "777", "QUANTITY": 3, "PRODUCT_ID": 8}, "Монтаж 3 × 777 ₽ → монтаж 3 × 777 ₽, номер товара 8"),
    ],
    ids=["line break", "by number", "unknown number", "no price", "tax", "discount", "unknown field", "another product"],
)
async def test_all_that_is_sent_of_a_row_is_shown(row: dict[str, Any], text: str) -> None:
    """A name cannot pass for a line of the card, and a field that the code does not know is not left out."""
    found = await shown("crm.deal.productrows.set", {"id": 481, "rows": [row]}, with_lists(DEAL, rows=ROWS))
    assert text in "\n".join(line[2] for line in found).split("\n")


async def test_a_price_that_cannot_be_read_makes_the_total_unknown() -> None:
    """Nothing is added up that may be wrong."""
    found = await shown("crm.deal.productrows.set", {"id": 481, "rows": [{"PRODUCT_NAME": "Б"}]}, with_lists(DEAL, rows=[]))
    assert ("Сумма станет по товарам", "1 000 000 ₽", "неизвестно") in found


async def test_a_list_that_was_not_read_is_called_unknown() -> None:
    """The new rows stand there, and that nobody knows what they replace."""
    found = await shown("crm.deal.productrows.set", {"id": 481, "rows": [{"PRODUCT_NAME": "Б", "PRICE": 1}]}, DEAL)
    assert found == [("Товары", "неизвестно", "Б 1 × 1 ₽")]


async def test_one_row_is_shown_as_it_is_and_as_it_will_be() -> None:
    """Adding, editing and deleting a single row; the rows that stay are not listed."""
    row = {"id": 1, "ownerId": 481, "ownerType": "D", "productId": 0, "productName": "Монтаж", "price": 777, "quantity": 3}
    at = ("productrow", 1)
    assert await shown("crm.item.productrow.update", {"id": 1, "fields": {"price": 700}}, row, at) == [
        ("Товары — изменятся", "", "Монтаж 3 × 777 → Монтаж 3 × 700")
    ]
    assert await shown("crm.item.productrow.delete", {"id": 1}, row, at) == [("Товары — исчезнут", "", "Монтаж 3 × 777")]
    added = {"fields": {"ownerType": "D", "ownerId": 481, "productName": "Доставка", "price": 5}}
    assert await shown("crm.item.productrow.add", added, with_lists({**DEAL, "OPPORTUNITY": 2456}, productRows=ROWS)) == [
        ("Товары — добавятся", "", "Доставка 1 × 5 ₽"),
        ("Сумма товаров", "2 456 ₽", "2 461 ₽"),
    ]


@pytest.mark.parametrize(
    ("method", "params", "lines"),
    [
        (
            "crm.deal.contact.items.set",
            {"items": [{"CONTACT_ID": 44}, {"CONTACT_ID": 45}]},
            [
                ("Контакты — добавятся", "", "Сидоров"),
                ("Контакты — исчезнут", "", "Иванов (главный в списке)"),
                ("Контакты — изменятся", "", "Петрова → Петрова (главный в списке)"),
            ],
        ),
        (
            "crm.deal.contact.items.set",
            {"items": [{"CONTACT_ID": "43", "IS_PRIMARY": "Y"}, {"CONTACT_ID": "44", "SORT": 20}]},
            [("Контакты — останутся", "", "Иванов (главный в списке)\nПетрова")],
        ),
        ("crm.deal.contact.items.delete", {}, [("Контакты — исчезнут", "", "Иванов (главный в списке)\nПетрова")]),
        (
            "crm.deal.contact.add",
            {"fields": {"CONTACT_ID": 45, "IS_PRIMARY": "Y"}},
            [
                ("Контакты — добавятся", "", "Сидоров (главный в списке)"),
                ("Контакты — изменятся", "", "Иванов (главный в списке) → Иванов"),
            ],
        ),
        ("crm.deal.contact.add", {"fields": {"CONTACT_ID": 44}}, [("Контакты", "", "Петрова — уже есть")]),
        (
            "crm.deal.contact.delete",
            {"fields": {"CONTACT_ID": 43}},
            [
                ("Контакты — исчезнут", "", "Иванов (главный в списке)"),
                ("Контакты — изменятся", "", "Петрова → Петрова (главный в списке)"),
            ],
        ),
        ("crm.deal.contact.delete", {"fields": {"CONTACT_ID": 45}}, [("Контакты", "", "Сидоров — сейчас не связано")]),
    ],
)
async def test_linked_contacts_are_told_apart(method: str, params: dict[str, Any], lines: list[Any]) -> None:
    """By name, and with the primary one, which changes when it is unlinked."""
    assert await shown(method, {"id": 481, **params}, with_lists(DEAL, items=LINKS)) == lines


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        ("crm.lead.contact.items.delete", "lead"),
        ("crm.company.contact.items.delete", "company"),
        ("crm.quote.contact.items.delete", "item:7"),
        ("crm.contact.company.items.delete", "contact"),
    ],
)
async def test_unlinking_all_never_lists_the_sum_as_lost(method: str, kind: str) -> None:
    """What is lost are the links; the record keeps its sum, its owner and its stage."""
    link = "COMPANY_ID" if method.startswith("crm.contact") else "CONTACT_ID"
    record = {
        "ID": "481",
        "OPPORTUNITY": "5",
        "ASSIGNED_BY_ID": "7",
        "CONTACT_ID": "43",
        "items": [{link: 5 if link == "COMPANY_ID" else 43}],
    }
    found = await shown(method, {"id": 481}, record, (kind, 481))
    assert found in ([("Компании — исчезнут", "", "Вектор")], [("Контакты — исчезнут", "", "Иванов")])


def test_a_card_that_unlinks_all_does_not_say_that_it_is_final() -> None:
    """The former links can be restored, so the reason is another one than for a deletion; two taps are asked all the same."""
    policy = Policy.model_validate({"open_methods": ["crm.deal.contact.items.delete"]})
    verdict = judged(effect("crm.deal.contact.items.delete", {"id": 481}), policy=policy)
    assert said(verdict) == ["gate-class-unlink"]
    assert verdict.taps == 2


@pytest.mark.parametrize(
    ("method", "params", "record", "target", "lines"),
    [
        (
            "crm.deal.update",
            {"id": 481, "fields": {"CONTACT_IDS": [44, 45]}},
            {**DEAL, "CONTACT_IDS": [43, 44]},
            ("deal", 481),
            [
                ("Контакты — добавятся", "", "Сидоров"),
                ("Контакты — исчезнут", "", "Иванов (главный в списке)"),
                ("Контакты — останутся", "", "Петрова (главный в списке)"),
            ],
        ),
        (
            "crm.deal.update",
            {"id": 481, "fields": {"CONTACT_IDS": [44, 43]}},
            {**DEAL, "CONTACT_IDS": [43, 44]},
            ("deal", 481),
            [("Контакты — останутся", "", "Иванов\nПетрова (главный в списке)")],
        ),
        (
            "crm.item.update",
            {"entityTypeId": 2, "id": 481, "fields": {"contactIds": [45]}},
            {**DEAL, "contactIds": [43, 44]},
            ("deal", 481),
            [("Контакты — добавятся", "", "Сидоров"), ("Контакты — исчезнут", "", "Иванов (главный в списке)\nПетрова")],
        ),
        (
            "tasks.task.update",
            {"taskId": 8017, "fields": {"ACCOMPLICES": [6, 8], "AUDITORS": []}},
            {**TASK, "accomplices": ["7", "8"], "auditors": ["6", "7"]},
            ("task", 8017),
            [
                ("Соисполнители — добавятся", "", "Вера"),
                ("Соисполнители — исчезнут", "", "Анна"),
                ("Соисполнители — останутся", "", "Борис"),
                ("Наблюдатели — исчезнут", "", "Вера\nАнна"),
            ],
        ),
        (
            "crm.contact.update",
            {"id": 43, "fields": {"COMPANY_IDS": [5, 6]}},
            {**CONTACT, "COMPANY_IDS": [5]},
            ("contact", 43),
            [("Компании — добавятся", "", "Север"), ("Компании — останутся", "", "Вектор (главная в списке)")],
        ),
        (
            "tasks.task.update",
            {"taskId": 8017, "fields": {"TAGS": ["а", "в"]}},
            {**TASK, "tags": ["а", "б"]},
            ("task", 8017),
            [("Метки — добавятся", "", "в"), ("Метки — исчезнут", "", "б"), ("Метки — останутся", "", "а")],
        ),
    ],
)
async def test_people_in_a_field_are_told_apart(
    method: str, params: dict[str, Any], record: dict[str, Any], target: tuple[str, int], lines: list[Any]
) -> None:
    """A field with several people, contacts or companies is a list as well: the names that go are named."""
    assert await shown(method, params, record, target) == lines


@pytest.mark.req("G2")
@pytest.mark.parametrize("name", ["QUANTITY", "PRICE", "PRODUCT_NAME", "DISCOUNT_RATE", "TAX_RATE", "STORE_ID"])
def test_a_change_of_a_row_changes_the_before_image(name: str) -> None:
    """The list is part of what the consent is bound to; the numbers of rows are not, they change with every write."""
    made = call("crm.deal.productrows.set", {"id": 481, "rows": []})

    def image(rows: list[dict[str, Any]]) -> Any:
        return build_before_image(made, Facts(records={("deal", 481): with_lists(DEAL, rows=rows)}))

    assert image(ROWS) != image([{**ROWS[0], name: "9"}, ROWS[1]])
    assert image(ROWS) == image([{**ROWS[0], "ID": "77"}, ROWS[1]])


def test_a_deleted_row_is_bound_to_its_price() -> None:
    """So that a row that somebody made dearer meanwhile is asked about again."""
    row = {"id": 1, "ownerId": 481, "productName": "Монтаж", "price": 777, "quantity": 3}
    found = build_before_image(call("crm.item.productrow.delete", {"id": 1}), Facts(records={("productrow", 1): row}))
    assert found["productrow:1"] == {name: value for name, value in row.items() if name != "id"}


def list_replacing() -> list[Method]:
    """The methods of the catalogue that replace a list of their record."""
    return [method for method in catalogue() if method.replaces and "people" not in method.replaces.values()]


@pytest.mark.parametrize("method", list_replacing(), ids=lambda method: method.name)
def test_every_row_that_replaces_a_list_can_read_it(method: Method) -> None:
    """The catalogue names a reading method of the same record, and what undoes it writes the same list."""
    reader = catalogue().find(method.before)
    assert reader.reads_only
    assert reader.target
    assert len(method.replaces) == 1
    undo = catalogue().find(method.undo)
    assert undo is not None
    assert method.verb == "add" or (undo.replaces == method.replaces and not undo.changes_one)


def test_no_row_that_replaces_a_list_is_forgotten() -> None:
    """Whatever the catalogue says to replace all or to remove all is read first; the known rest holds no list of a record."""
    words = ("replaces all", "removes all", "unlinks all")
    rest = {method.name for method in catalogue() if method.note.startswith(words) and not method.replaces and not method.reads_only}
    assert rest == {"crm.calllist.update"}


@pytest.mark.parametrize(("kind", "same"), [("contact", False), ("company", False), ("user", True)])
def test_another_primary_contact_is_a_change(kind: str, same: bool) -> None:  # noqa: FBT001
    """The same contacts with another one in front are not what the record has already; of people the order means nothing."""
    assert fields.is_same_value([44, 43], ["43", "44"], kind=kind) is same
    assert fields.is_same_value([43, 44], ["43", "44"], kind=kind)
