"""Sandbox portal, sample data: contracts, quotes, requisites, goods and calls of the invented company; no real numbers."""

from __future__ import annotations

# id, name, order, default
CONTRACT_FUNNELS = ((10, "Основные договоры", 100, "Y"), (11, "Рамочные договоры", 200, "N"))

# code, name, group (S success, F failure), colour
CONTRACT_STAGES = (
    ("NEW", "Черновик", None, "#22B9FF"),
    ("PREPARATION", "Согласование", None, "#88B9FF"),
    ("SIGNING", "На подписании", None, "#10E5FC"),
    ("SUCCESS", "Действует", "S", "#00FF00"),
    ("FAIL", "Расторгнут", "F", "#FF0000"),
)
QUOTE_STATUSES = (
    ("DRAFT", "Новое", None, "#39A8EF"),
    ("SENT", "Отправлено клиенту", None, "#55D0E0"),
    ("UNANSWERED", "Нет ответа", None, "#FFA900"),
    ("APPROVED", "Принято", "S", "#7BD500"),
    ("DECLAINED", "Отклонено", "F", "#FF5752"),
)

# id, title, funnel, stage, sum, responsible, company, deal, number, kind, ends in days
CONTRACTS = (
    (12, "Договор поставки с «Ромашкой»", 10, "PREPARATION", 480_000, 7, 21, 481, "П-12/2026", 71, 340),
    (14, "Договор аренды склада с «Вектором»", 10, "SIGNING", 1_200_000, 7, 22, 412, "А-14/2026", 73, 180),
    (16, "Рамочный договор со «Стройинвестом»", 11, "SUCCESS", 3_000_000, 8, 23, None, "Р-16/2025", 75, 45),
)

# id, title, status, sum, responsible, company, deal
QUOTES = (
    (31, "КП для «Ромашки»: отгрузка по новой цене", "SENT", 480_000, 7, 21, 481),
    (32, "КП для «Вектора»: аренда на полгода", "DRAFT", 1_150_000, 7, 22, 412),
)

# id, company, name, tax number, tax code, register number, director
REQUISITES = (
    (61, 21, "ООО «Ромашка»", "7700000016", "770001001", "1027700000016", "Петров Иван Сергеевич"),
    (62, 22, "ООО «Вектор»", "7800000024", "780001001", "1027800000024", "Сидорова Мария Олеговна"),
    (63, 23, "АО «Стройинвест»", "7700000032", "770001001", "1027700000032", "Кузнецов Пётр Ильич"),
)

# id, requisites, name, bank, bank code, account
BANK_DETAILS = (
    (71, 61, "Основной счёт", "АО «Банк»", "044525000", "40702810000000000001"),
    (72, 62, "Расчётный счёт", "АО «Банк»", "044525000", "40702810000000000002"),
)

# id, name, per cent, order
VATS = ((1, "Без НДС", None, 100), (3, "НДС 20%", 20.0, 200), (5, "НДС 10%", 10.0, 300))

CATALOGUE = 23  # the information block of the goods
CATALOGUE_NAME = "Товарный каталог CRM"

# id, name, in stock, purchase price, VAT
PRODUCTS = (
    (1201, "Кабель силовой ВВГнг 3×2,5, м", 5400, 62.5, 3),
    (1203, "Светильник светодиодный 36 Вт", 320, 740.0, 3),
    (1205, "Насос циркуляционный", 14, 9_800.0, 3),
    (1207, "Бумага офисная A4, пачка", 0, 215.0, 3),
)

# id, product, retail price
PRICES = ((31, 1201, 89.0), (33, 1203, 1_050.0), (35, 1205, 12_400.0), (37, 1207, 310.0))

ANY_PRODUCT = {
    "IBLOCK_ID": CATALOGUE,
    "ACTIVE": "Y",
    "SORT": 500,
    "TYPE": 1,
    "QUANTITY_RESERVED": 0,
    "QUANTITY_TRACE": "Y",
    "CAN_BUY_ZERO": "N",
    "PURCHASING_CURRENCY": "RUB",
    "MEASURE": 5,
    "VAT_INCLUDED": "Y",
    "DETAIL_TEXT_TYPE": "text",
    "CREATED_BY": 1,
    "MODIFIED_BY": 1,
}

# id, name, bound to
TEMPLATES = (
    (1, "Счёт", ("2_category_0", "2_category_1")),
    (2, "Договор поставки", ("2_category_0", "177_category_10")),
    (3, "Коммерческое предложение", ("7",)),
)

ANY_TEMPLATE = {
    "REGION": "ru",
    "ACTIVE": "Y",
    "MODULE_ID": "crm",
    "NUMERATOR_ID": 1,
    "WITH_STAMPS": "N",
    "IS_DELETED": "N",
    "USERS": ["UA"],
}

# id, colleague, number, 1 outgoing 2 incoming, seconds, code, reason, contact, hours ago
PHONE_CALLS = (
    (1, 7, "+74955551000", 1, 184, "200", "", 43, 30),
    (2, 7, "+74955551001", 2, 0, "304", "Missed call", 44, 26),
    (3, 8, "+74955551002", 2, 412, "200", "", 45, 3),
)

ANY_CALL = {
    "PORTAL_NUMBER": "reg100001",
    "CALL_CATEGORY": "external",
    "COST": "0.0000",
    "COST_CURRENCY": "RUB",
    "CRM_ENTITY_TYPE": "CONTACT",
    "TRANSCRIPT_PENDING": "N",
}

# Values of the custom fields of deals: delivery, prepayment, mounting, engineer, waybills
DEAL_OWN = {
    410: (61, "250000|RUB", "Y", 9, ["ТН-0410-1", "ТН-0410-2"]),
    412: (57, None, "N", None, None),
    481: (59, "1500.5|USD", "N", 8, ["ТН-0481"]),
}
