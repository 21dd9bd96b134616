"""Sandbox portal, field lists of contracts (a smart process), quotes, custom deal fields and small read-only tables.

The lines have the format that `schema_data` describes.
"""

from __future__ import annotations

from types import MappingProxyType

CONTRACT_TYPE_ID = 177
CONTRACT_TITLE = "Договоры"
INVOICE_TYPE_ID = 31
DEFAULT_CATEGORY = 10

# A smart process has only names of the universal family; these are the stored names behind them.
SMART_UPPER = MappingProxyType(
    {
        "DATE_CREATE": "CREATED_TIME",
        "DATE_MODIFY": "UPDATED_TIME",
        "CREATED_BY_ID": "CREATED_BY",
        "MODIFY_BY_ID": "UPDATED_BY",
        "MOVED_BY_ID": "MOVED_BY",
    }
)

CONTRACT = """
ID integer R ID
TITLE string - Название
XML_ID string - Внешний код
DATE_CREATE datetime R Когда создан
DATE_MODIFY datetime R Когда обновлён
CREATED_BY_ID user R Кем создан
MODIFY_BY_ID user R Кем обновлён
ASSIGNED_BY_ID user - Ответственный
OPENED boolean Q Доступен для всех
BEGINDATE date - Дата начала
CLOSEDATE date - Дата завершения
COMPANY_ID crm_company - Компания
CONTACT_ID crm_contact - Контакт
CONTACT_IDS crm_contact M Контакты
CATEGORY_ID crm_category - Воронка
MOVED_TIME datetime R Когда изменена стадия
MOVED_BY_ID user R Кем изменена стадия
STAGE_ID crm_status - Стадия
PREVIOUS_STAGE_ID crm_status R Предыдущая стадия
SOURCE_ID crm_status - Источник
SOURCE_DESCRIPTION text - Дополнительно об источнике
CURRENCY_ID crm_currency - Валюта
IS_MANUAL_OPPORTUNITY boolean - Режим расчёта суммы
OPPORTUNITY double - Сумма
TAX_VALUE double - Сумма налога
MYCOMPANY_ID crm_company - Реквизиты вашей компании
LAST_ACTIVITY_BY user R Автор последней активности в таймлайне
LAST_ACTIVITY_TIME datetime R Последняя активность
PARENT_ID_2 crm_entity - Сделка
UF_CRM_5_1747310201 string D Номер договора
UF_CRM_5_1747310202 enumeration D Вид договора
"""

INVOICE = CONTRACT.partition("UF_CRM_5_")[0] + "ACCOUNT_NUMBER string - Номер\n"

QUOTE = """
ID integer R ID
QUOTE_NUMBER string R Номер
TITLE string - Тема
STATUS_ID crm_status - Статус
CURRENCY_ID crm_currency - Валюта
OPPORTUNITY double - Сумма
TAX_VALUE double - Сумма налога
COMPANY_ID crm_company - Компания
CONTACT_ID crm_contact - Контакт
CONTACT_IDS crm_contact M Контакты
MYCOMPANY_ID crm_company - Реквизиты вашей компании
DEAL_ID crm_deal - Сделка
LEAD_ID crm_lead - Лид
BEGINDATE date - Дата выставления
CLOSEDATE date - Дата завершения
ASSIGNED_BY_ID user - Ответственный
CREATED_BY_ID user R Кем создано
MODIFY_BY_ID user R Кем изменено
DATE_CREATE datetime R Дата создания
DATE_MODIFY datetime R Дата изменения
OPENED char - Доступно для всех
CLOSED char - Завершено
COMMENTS string - Комментарий менеджера
CONTENT string - Содержание
TERMS string - Условия
LOCATION_ID location - Местоположение
PERSON_TYPE_ID integer - Тип плательщика
UTM_SOURCE string - Рекламная система
UTM_MEDIUM string - Тип трафика
UTM_CAMPAIGN string - Рекламная кампания
UTM_CONTENT string - Содержание кампании
UTM_TERM string - Условие поиска кампании
"""

DEAL_OWN = """
UF_CRM_1747310101 enumeration D Способ доставки
UF_CRM_1747310102 money D Предоплата
UF_CRM_1747310103 boolean D Нужен монтаж
UF_CRM_1747310104 employee D Технический специалист
UF_CRM_1747310105 string DM Номера накладных
UF_CRM_DISCOUNT string D Скидка
"""

CHOICES = MappingProxyType(
    {
        "UF_CRM_1747310101": ((57, "Самовывоз"), (59, "Курьер"), (61, "Транспортная компания")),
        "UF_CRM_5_1747310202": ((71, "Поставка"), (73, "Аренда"), (75, "Обслуживание")),
    }
)

SETTINGS = MappingProxyType(
    {
        "string": {"SIZE": 20, "ROWS": 1, "REGEXP": "", "MIN_LENGTH": 0, "MAX_LENGTH": 0, "DEFAULT_VALUE": ""},
        "enumeration": {"DISPLAY": "LIST", "LIST_HEIGHT": 1, "CAPTION_NO_VALUE": "", "SHOW_NO_VALUE": "Y"},
        "money": {"DEFAULT_VALUE": ""},
        "boolean": {"DEFAULT_VALUE": 0, "DISPLAY": "CHECKBOX", "LABEL": ["", ""]},
        "employee": [],
        "date": {"DEFAULT_VALUE": {"TYPE": "NONE", "VALUE": ""}},
        "file": {"SIZE": 20, "MAX_SHOW_SIZE": 0, "MAX_ALLOWED_SIZE": 0, "EXTENSIONS": []},
    }
)

TYPE = """
ID integer R ID
TITLE string Q Название
CODE string - Символьный код
CREATED_BY user R Кем создан
ENTITY_TYPE_ID integer IQ Идентификатор типа
CUSTOM_SECTION_ID integer I Цифровое рабочее место
IS_CATEGORIES_ENABLED boolean - Использовать свои воронки
IS_STAGES_ENABLED boolean - Использовать свои стадии и канбан
IS_BEGIN_CLOSE_DATES_ENABLED boolean - Поля дат начала и завершения
IS_CLIENT_ENABLED boolean - Поле «Клиент»
IS_USE_IN_USERFIELD_ENABLED boolean - Использовать в пользовательском поле
IS_LINK_WITH_PRODUCTS_ENABLED boolean - Привязка товаров каталога
IS_MYCOMPANY_ENABLED boolean - Поле «Реквизиты вашей компании»
IS_DOCUMENTS_ENABLED boolean - Печать документов
IS_SOURCE_ENABLED boolean - Поле «Источник»
IS_OBSERVERS_ENABLED boolean - Поле «Наблюдатели»
IS_RECYCLEBIN_ENABLED boolean - Корзина
IS_AUTOMATION_ENABLED boolean - Роботы и триггеры
IS_BIZ_PROC_ENABLED boolean - Дизайнер бизнес-процессов
IS_SET_OPEN_PERMISSIONS boolean - Новые воронки доступны всем
IS_PAYMENTS_ENABLED boolean - Оплаты
IS_COUNTERS_ENABLED boolean - Счётчики
CREATED_TIME datetime - Когда создан
UPDATED_TIME datetime - Когда изменён
UPDATED_BY user R Кем изменён
"""

REQUISITE = """
ID integer R ID
ENTITY_TYPE_ID integer I Тип владельца
ENTITY_ID integer I Владелец
PRESET_ID integer - Шаблон
DATE_CREATE datetime R Дата создания
DATE_MODIFY datetime R Дата изменения
CREATED_BY_ID user R Кем создано
MODIFY_BY_ID user R Кем изменено
NAME string - Название
CODE string - Символьный код
XML_ID string - Внешний код
ORIGINATOR_ID string - Внешний источник
ACTIVE char - Активны
ADDRESS_ONLY char - Только адрес
SORT integer - Порядок
RQ_NAME string - Ф. И. О.
RQ_FIRST_NAME string - Имя
RQ_LAST_NAME string - Фамилия
RQ_SECOND_NAME string - Отчество
RQ_COMPANY_NAME string - Сокращённое наименование
RQ_COMPANY_FULL_NAME string - Полное наименование
RQ_COMPANY_REG_DATE string - Дата регистрации
RQ_DIRECTOR string - Генеральный директор
RQ_ACCOUNTANT string - Главный бухгалтер
RQ_EMAIL string - E-mail
RQ_PHONE string - Телефон
RQ_INN string - ИНН
RQ_KPP string - КПП
RQ_OGRN string - ОГРН
RQ_OGRNIP string - ОГРНИП
RQ_OKPO string - ОКПО
RQ_OKVED string - ОКВЭД
"""

BANK_DETAIL = """
ID integer R ID
ENTITY_ID integer I Реквизиты
COUNTRY_ID integer - Страна
NAME string - Название
ACTIVE char - Активны
SORT integer - Порядок
RQ_BANK_NAME string - Банк
RQ_BIK string - БИК
RQ_ACC_NUM string - Счёт
RQ_COR_ACC_NUM string - Корреспондентский счёт
"""

VAT = """
ID integer R ID
TIMESTAMP_X datetime R Дата изменения
ACTIVE char - Активна
C_SORT integer - Порядок
NAME string Q Название
RATE double Q Ставка
"""

PHONE_CALL = """
ID integer R ID
PORTAL_USER_ID user R Сотрудник
PORTAL_NUMBER string R Линия
PHONE_NUMBER string R Номер абонента
CALL_ID string R Звонок
EXTERNAL_CALL_ID string R Звонок во внешней АТС
CALL_CATEGORY string R Категория
CALL_LOG string R Журнал
CALL_DURATION integer R Длительность
CALL_START_DATE datetime R Начало
CALL_RECORD_URL string R Запись
CALL_VOTE integer R Оценка
COST string R Стоимость
COST_CURRENCY string R Валюта
CALL_FAILED_CODE string R Код результата
CALL_FAILED_REASON string R Результат
CRM_ENTITY_TYPE string R Тип объекта CRM
CRM_ENTITY_ID integer R Объект CRM
CRM_ACTIVITY_ID integer R Дело
REST_APP_ID integer R Приложение
REST_APP_NAME string R Название приложения
TRANSCRIPT_ID integer R Расшифровка
TRANSCRIPT_PENDING char R Расшифровка готовится
SESSION_ID integer R Сессия
REDIAL_ATTEMPT integer R Попытки
COMMENT string R Комментарий
RECORD_DURATION integer R Длительность записи
CALL_TYPE integer R Вид звонка
"""

PRODUCT = """
ID integer R ID
IBLOCK_ID integer I Инфоблок каталога
IBLOCK_SECTION_ID integer - Раздел
NAME string Q Название
ACTIVE char - Активен
AVAILABLE char R Доступен
CODE string - Символьный код
XML_ID string - Внешний код
SORT integer - Порядок
TYPE integer R Вид
QUANTITY integer - Количество
QUANTITY_RESERVED integer - В резерве
QUANTITY_TRACE char - Учёт
CAN_BUY_ZERO char - Продавать без остатка
PURCHASING_PRICE double - Закупочная цена
PURCHASING_CURRENCY crm_currency - Валюта закупки
MEASURE integer - Единица
VAT_ID integer - Ставка НДС
VAT_INCLUDED char - НДС включён
DETAIL_TEXT string - Описание
DETAIL_TEXT_TYPE string - Вид описания
CREATED_BY user R Кем создан
MODIFIED_BY user R Кем изменён
DATE_CREATE datetime R Дата создания
TIMESTAMP_X datetime R Дата изменения
"""

TEMPLATE = """
ID integer R ID
NAME string Q Название
REGION string - Регион
CODE string - Символьный код
ACTIVE char - Активен
MODULE_ID string R Модуль
NUMERATOR_ID integer - Нумератор
WITH_STAMPS char - С печатями
IS_DELETED char R Удалён
SORT integer - Порядок
CREATE_TIME datetime R Создан
UPDATE_TIME datetime R Изменён
ENTITY_TYPE_ID string M Привязки
USERS string M Доступ
"""
