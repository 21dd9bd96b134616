"""A scene of many acts: the card of each, photographed alone and put on contact sheets.

The calls are those of the reading test (tests/corpus/realistic_calls). What the sandbox portal refuses or the gate lets run without a card
is drawn by the preview and renderer alone, and posted by the bot's own account.
"""

import tempfile
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bot.i18n.translate import Translator
from bot.rendering.cards import render_card
from bot.telegram.view.entities import render_entities
from bot.telegram.view.keyboards import build_card_keyboard
from tests.e2e.e2e_kit import plan, step
from tests.e2e.e2e_people import Person
from tests.e2e.e2e_servers import TOKEN
from tests.pictures.palette import shrink_picture
from tests.pictures.studio import ZONE, Scene, Studio
from tests.unit.gate.reading_kit import build_view, load_calls, open_portal
from tests.unit.gate.sandbox_kit import Desk

SHEET: Final = 12
"""Cards on one sheet."""
CARD: Final = 400
"""Width of a card on a sheet, in pixels."""
COLUMNS: Final = 3
GAP: Final = 8
ACTS: Final[Mapping[str, str]] = {
    "crm.deal.add": "создай сделку «Поставка насосов» на 450 000 для ООО Ромашка, ответственная Вера",
    "crm.deal.update": "Ромашка: предоплата, 150 000, компания ООО Вектор, отдай Вере, источник сайт",
    "crm.deal.delete": "удали сделку Ромашка",
    "crm.deal.contact.add": "привяжи Ивана Кузнецова к сделке Ромашка",
    "crm.deal.contact.delete": "отвяжи Ивана Кузнецова от сделки Ромашка",
    "crm.deal.contact.items.set": "контакты сделки Ромашка: Иван Кузнецов и Мария Кузнецова",
    "crm.deal.productrows.set": "в Ромашке оставь 15 светильников по 777",
    "crm.item.productrow.add": "добавь в Ромашку 15 светильников по 777",
    "crm.item.productrow.update": "светильников в Ромашке теперь 15 по 777",
    "crm.item.productrow.delete": "убери светильники из Ромашки",
    "crm.lead.add": "новый лид «Заявка на склад», Пётр Ильин",
    "crm.lead.update": "лид «Заявка с сайта: счёт на материалы» обработан, отдай Вере",
    "crm.lead.delete": "удали лид «Заявка с сайта: счёт на материалы»",
    "crm.contact.add": "создай контакт Пётр Ильин, главный инженер ООО Ромашка",
    "crm.contact.update": "Иван Кузнецов теперь директор в ООО Вектор, телефон +7 900 555-66-77",
    "crm.contact.delete": "удали контакт Иван Кузнецов",
    "crm.contact.company.add": "привяжи ООО Ромашка к контакту Иван Кузнецов",
    "crm.company.add": "создай компанию ООО Лютик, Тула",
    "crm.company.update": "ООО Ромашка теперь партнёр, отдай Вере",
    "crm.company.contact.delete": "отвяжи Ивана Кузнецова от ООО Ромашка",
    "crm.entity.mergeBatch": "объедини контакты Ивана и Марии Кузнецовых",
    "crm.quote.add": "предложение по насосам для сделки Ромашка на 450 000",
    "crm.quote.update": "предложение для Ромашки отправлено",
    "crm.item.add": "договор на обслуживание для Ромашки на 450 000",
    "crm.item.update": "договор с Ромашкой на подписание, отдай Вере",
    "crm.item.payment.add": "создай оплату в сделке Ромашка",
    "crm.item.payment.pay": "оплата 7/1 получена",
    "crm.invoice.add": "выставь счёт А-15 по сделке Ромашка",
    "crm.activity.add": "отправь Ивану Кузнецову письмо со счётом из сделки Ромашка",
    "crm.activity.update": "звонок по срокам состоялся, отдай Вере",
    "crm.activity.todo.add": "дело по Ромашке: позвонить 24 ноября в 15, исполнитель Вера",
    "crm.activity.todo.updateDeadline": "перенеси срок дела «Уточнить сроки поставки» на 24 ноября 15:00",
    "crm.activity.binding.move": "перенеси дело «Уточнить сроки поставки» в договор с Ромашкой",
    "crm.timeline.comment.add": "комментарий к Ромашке: клиент просит скидку, приложи смету",
    "crm.timeline.comment.update": "исправь комментарий: клиент просит отсрочку",
    "crm.timeline.comment.delete": "удали этот комментарий",
    "tasks.task.add": "поставь Вере задачу позвонить клиенту до 24 ноября",
    "tasks.task.update": "задачу 8017 до 3 декабря, исполнитель Вера",
    "tasks.task.delegate": "делегируй задачу 8017 Вере",
    "tasks.task.complete": "заверши задачу 8017",
    "task.checklistitem.add": "добавь в задачу 8017 пункт «Собрать документы»",
    "task.checklistitem.update": "пункт теперь «Собрать подписи», готово",
    "task.commentitem.update": "исправь комментарий задачи 8017: ответ получен",
    "task.elapseditem.add": "запиши в задачу 8017 время Веры: 25 минут",
    "calendar.event.add": "встреча с клиентом 24 ноября с 15 до 16, позови Анну и Веру",
    "calendar.event.update": "планёрку на 24 ноября в 15, позови Анну и Веру",
    "im.message.add": "напиши Вере «Добрый день»",
    "im.chat.add": "создай чат по договору с Анной и Верой",
    "log.blogpost.add": "опубликуй в ленте: мы выиграли тендер",
    "disk.folder.uploadfile": "положи смету в папку договоров",
    "disk.file.getExternalLink": "открой смету по ссылке",
    "crm.documentgenerator.document.add": "собери договор поставки по Ромашке",
    "crm.requisite.update": "ИНН ООО Ромашка 7700000024",
    "crm.category.update": "переименуй воронку Тендеры в Госзакупки",
    "crm.status.add": "добавь в Тендеры стадию «Проверка»",
    "user.add": "пригласи Олега Новикова на портал, менеджер",
    "user.update": "Вера теперь старший менеджер тендерного отдела",
    "telephony.externalCall.finish": "запиши звонок Веры в карточку",
    "event.bind": "сообщай складу о новых сделках",
}  # fmt: skip
"""What a sales department asks for: method → the request. The parameters are those of the reading test."""
DEALS: Final = (481, 410, 412, 413, 415, 417, 419, 423, *range(424, 457, 3))
BATCHES: Final[Mapping[str, str]] = {
    "передай все сделки Бориса Вере": "crm.deal.update?id={}&fields[ASSIGNED_BY_ID]=8",
    "напиши в Ромашку и Вектор «жду ответа»": "crm.timeline.comment.add?fields[ENTITY_ID]={}&fields[ENTITY_TYPE]=deal&fields[COMMENT]=Жду ответа",
}  # fmt: skip


async def acts(studio: Studio) -> None:
    """Every act of ACTS, and two batches, on sheets of twelve cards."""
    await studio.bot.aclose()
    await studio.begin(f"open_methods: [{', '.join(ACTS)}]\nevent_handler_hosts: [hooks.example.com]\n")
    olga = studio.world.olga
    cards: list[int] = []
    with tempfile.TemporaryDirectory(prefix="sdelka-acts-") as folder:
        async with open_portal(Path(folder)) as desk:
            for method, request in ACTS.items():
                cards.append(
                    await _find_card(studio, olga, request, step(method, dict(load_calls()[method])))
                    or await _post(studio, desk, olga, method)
                )
    for count, (request, command) in zip((19, 2), BATCHES.items(), strict=True):
        commands = {f"c{place}": command.format(number) for place, number in enumerate(DEALS[:count])}
        cards.append(await _find_card(studio, olga, request, step("batch", {"cmd": commands})))
    await lay_out_sheets(studio, await take_cards(studio, olga, [number for number in cards if number]), "acts-{}")


async def _find_card(studio: Studio, person: Person, request: str, proposed: dict[str, Any]) -> int:
    """Let the model propose the call; the number of the message with the card, 0 if none came."""
    await studio.world.script(plan(proposed))
    seen = await person.ask(request)
    return next((message.number for message in seen if any(data.startswith("c") for data in message.buttons.values())), 0)


async def _post(studio: Studio, desk: Desk, person: Person, method: str) -> int:
    """Draw the card over the portal of the reading test and post it; the number of the message."""
    view, tr = await build_view(desk, method, "ru"), Translator("ru")
    text, entities = render_entities(render_card(view, tr))
    keyboard = build_card_keyboard(view, tr)
    body: dict[str, Any] = {
        "chat_id": person.chat,
        "text": text,
        "entities": [entity.model_dump(mode="json", exclude_none=True) for entity in entities],
    }
    if keyboard is not None:
        body["reply_markup"] = keyboard.model_dump(mode="json", exclude_none=True)
    answer = await studio.world.telegram.post(f"/bot{TOKEN}/sendMessage", json=body)
    assert answer.is_success, answer.text
    return int(answer.json()["result"]["message_id"])


async def take_cards(studio: Studio, person: Person, numbers: Sequence[int]) -> list[bytes]:
    """Return a picture of each of these messages of the person's chat, as it stands now."""
    page = await studio.browser.new_page(viewport={"width": CARD, "height": 1200}, locale="ru-RU", timezone_id=ZONE)
    await page.goto(f"{studio.world.servers.telegram}/?solo#{person.chat}")
    await page.wait_for_selector('html[data-ready="yes"]')
    style = ".composer, .day, .answer-to, .chat-head, #to-end { display: none !important } .message { animation: none !important; max-width: none !important } .chat, .messages { background: #dfe6ee !important }"
    await page.evaluate("style => { const e = new CSSStyleSheet(); e.replaceSync(style); document.adoptedStyleSheets = [e]; }", style)
    taken = [await page.locator(f'li.message[data-id="{number}"]').screenshot() for number in numbers]
    await page.close()
    return taken


async def lay_out_sheets(studio: Studio, taken: Sequence[bytes], name: str) -> None:
    """Put the pictures on sheets of twelve; `name` has a place for the number of the sheet."""
    for place, first in enumerate(range(0, len(taken), SHEET), 1):
        sheet = await studio.browser.new_page(viewport={"width": COLUMNS * (CARD + GAP) + GAP, "height": 100})
        await sheet.set_content(_lay_out(taken[first : first + SHEET]))
        picture = await shrink_picture(sheet, await sheet.screenshot(full_page=True))
        (studio.folder / f"{name.format(place)}.png").write_bytes(picture)
        await sheet.close()


def _lay_out(cards: Sequence[bytes]) -> str:
    """Return a page with the cards in columns, each card at the foot of the shortest column."""
    columns: list[list[bytes]] = [[] for _ in range(COLUMNS)]
    for card in cards:
        min(columns, key=lambda column: sum(_read_height(above) for above in column)).append(card)
    images = ["".join(f'<img src="data:image/png;base64,{b64encode(card).decode()}">' for card in column) for column in columns]
    style = f"body {{ margin: {GAP}px; background: #dfe6ee; display: flex; gap: {GAP}px }} div {{ width: {CARD}px }} img {{ display: block; margin-bottom: {GAP}px }}"
    return f"<!doctype html><style>{style}</style>" + "".join(f"<div>{column}</div>" for column in images)


def _read_height(png: bytes) -> int:
    """Return the height of a PNG, which stands in its first chunk."""
    return int.from_bytes(png[20:24], "big")


SCENES: Final[Sequence[Scene]] = (acts,)
