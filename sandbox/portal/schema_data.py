"""Sandbox portal, the field lists of the record kinds: one line per field, in the format `NAME type flags title`.

The flags are R read-only, I immutable, M multiple, D custom, Q required, or - for none.
"""

from __future__ import annotations

_COMMON = """
ASSIGNED_BY_ID user - Ответственный
CREATED_BY_ID user R Кем создано
MODIFY_BY_ID user R Кем изменено
DATE_CREATE datetime R Дата создания
DATE_MODIFY datetime R Дата изменения
OPENED char - Доступно для всех
COMMENTS string - Комментарий
SOURCE_ID crm_status - Источник
SOURCE_DESCRIPTION string - Дополнительно об источнике
ORIGINATOR_ID string - Внешний источник
ORIGIN_ID string - Идентификатор во внешнем источнике
LAST_ACTIVITY_TIME datetime R Последняя активность
LAST_ACTIVITY_BY user R Кем выполнена последняя активность
UTM_SOURCE string - Рекламная система
UTM_MEDIUM string - Тип трафика
UTM_CAMPAIGN string - Рекламная кампания
UTM_CONTENT string - Содержание кампании
UTM_TERM string - Условие поиска кампании
"""

_FM = """
HAS_PHONE char R Задан телефон
HAS_EMAIL char R Задан e-mail
PHONE crm_multifield M Телефон
EMAIL crm_multifield M E-mail
WEB crm_multifield M Сайт
IM crm_multifield M Мессенджер
"""

_PERSON = """
HONORIFIC crm_status - Обращение
NAME string - Имя
SECOND_NAME string - Отчество
LAST_NAME string - Фамилия
POST string - Должность
BIRTHDATE date - Дата рождения
"""

DEAL = (
    """
ID integer R ID
TITLE string - Название
TYPE_ID crm_status - Тип
CATEGORY_ID crm_category I Воронка
STAGE_ID crm_status - Стадия
STAGE_SEMANTIC_ID string R Группа стадии
IS_NEW char R Новая сделка
IS_RECURRING char R Регулярная сделка
IS_RETURN_CUSTOMER char R Повторная сделка
IS_REPEATED_APPROACH char R Повторное обращение
PROBABILITY integer - Вероятность
CURRENCY_ID crm_currency - Валюта
OPPORTUNITY double - Сумма
IS_MANUAL_OPPORTUNITY char - Сумма задана вручную
TAX_VALUE double - Сумма налога
COMPANY_ID crm_company - Компания
CONTACT_ID crm_contact - Контакт
CONTACT_IDS crm_contact M Контакты
OBSERVERS user M Наблюдатели
LEAD_ID crm_lead R Лид
QUOTE_ID crm_quote R Предложение
BEGINDATE date - Дата начала
CLOSEDATE date - Дата завершения
CLOSED char - Закрыта
ADDITIONAL_INFO string - Дополнительная информация
LOCATION_ID location - Местоположение
MOVED_BY_ID user R Кем изменена стадия
MOVED_TIME datetime R Дата изменения стадии
UF_CRM_1747309879 string D Номер договора
"""
    + _COMMON
)

LEAD = (
    """
ID integer R ID
TITLE string - Название
STATUS_ID crm_status - Стадия
STATUS_SEMANTIC_ID string R Группа стадии
STATUS_DESCRIPTION string - Дополнительно о стадии
CURRENCY_ID crm_currency - Валюта
OPPORTUNITY double - Сумма
IS_MANUAL_OPPORTUNITY char - Сумма задана вручную
COMPANY_TITLE string - Название компании
COMPANY_ID crm_company - Компания
CONTACT_ID crm_contact - Контакт
IS_RETURN_CUSTOMER char R Повторный лид
DATE_CLOSED datetime R Дата завершения
ADDRESS string - Адрес
MOVED_BY_ID user R Кем изменена стадия
MOVED_TIME datetime R Дата изменения стадии
"""
    + _PERSON
    + _COMMON
    + _FM
)

CONTACT = (
    """
ID integer R ID
TYPE_ID crm_status - Тип контакта
COMPANY_ID crm_company - Компания
LEAD_ID crm_lead R Лид
PHOTO file - Фотография
EXPORT char - Участвует в экспорте
ADDRESS string - Адрес
"""
    + _PERSON
    + _COMMON
    + _FM
)

COMPANY = (
    """
ID integer R ID
TITLE string - Название
COMPANY_TYPE crm_status - Тип компании
INDUSTRY crm_status - Сфера деятельности
EMPLOYEES crm_status - Количество сотрудников
CURRENCY_ID crm_currency - Валюта
REVENUE double - Годовой оборот
IS_MY_COMPANY char - Моя компания
LEAD_ID crm_lead R Лид
BANKING_DETAILS string - Банковские реквизиты
ADDRESS string - Адрес
"""
    + _COMMON
    + _FM
)

ACTIVITY = """
ID integer R ID
OWNER_ID integer - Владелец
OWNER_TYPE_ID integer - Тип владельца
TYPE_ID integer - Тип
PROVIDER_ID string - Провайдер
PROVIDER_TYPE_ID string - Тип провайдера
ASSOCIATED_ENTITY_ID integer R Связанный объект
SUBJECT string - Тема
DESCRIPTION string - Описание
DESCRIPTION_TYPE integer - Тип описания
START_TIME datetime - Начало
END_TIME datetime - Завершение
DEADLINE datetime - Срок
CREATED datetime R Создано
LAST_UPDATED datetime R Изменено
COMPLETED char - Выполнено
STATUS integer R Статус
RESPONSIBLE_ID user - Ответственный
AUTHOR_ID user R Автор
EDITOR_ID user R Редактор
PRIORITY integer - Важность
NOTIFY_TYPE integer - Тип напоминания
NOTIFY_VALUE integer - Напоминание
LOCATION string - Место
DIRECTION integer - Направление
ORIGINATOR_ID string - Внешний источник
ORIGIN_ID string - Идентификатор во внешнем источнике
COLOR_ID string - Цвет
SETTINGS raw R Настройки
COMMUNICATIONS raw - Адресаты
PING_OFFSETS raw - Напоминания
"""

TASK = """
ID integer R ID
TITLE string - Название
DESCRIPTION string - Описание
STATUS integer - Статус
REAL_STATUS integer R Статус без отметок
PRIORITY integer - Приоритет
RESPONSIBLE_ID user - Исполнитель
CREATED_BY user - Постановщик
CHANGED_BY user R Кем изменено
CLOSED_BY user R Кем закрыто
DEADLINE datetime - Крайний срок
START_DATE_PLAN datetime - Плановое начало
END_DATE_PLAN datetime - Плановое завершение
DATE_START datetime R Начата
CREATED_DATE datetime R Создана
CHANGED_DATE datetime R Изменена
CLOSED_DATE datetime R Закрыта
GROUP_ID integer - Группа
PARENT_ID integer - Базовая задача
COMMENTS_COUNT integer R Комментариев
XML_ID string - Внешний код
ACCOMPLICES raw - Соисполнители
AUDITORS raw - Наблюдатели
TAGS raw - Метки
UF_CRM_TASK raw - Элементы CRM
"""

USER = """
ID integer R ID
XML_ID string R Внешний код
ACTIVE bool - Активен
NAME string - Имя
LAST_NAME string - Фамилия
SECOND_NAME string - Отчество
EMAIL string - E-mail
LAST_LOGIN datetime R Последний вход
DATE_REGISTER datetime R Дата регистрации
TIME_ZONE string - Часовой пояс
IS_ONLINE char R Онлайн
PERSONAL_GENDER string - Пол
PERSONAL_MOBILE string - Мобильный
WORK_POSITION string - Должность
WORK_PHONE string - Рабочий телефон
UF_DEPARTMENT raw - Подразделения
USER_TYPE string R Тип пользователя
"""

COMMENT = """
ID integer R ID
ENTITY_ID integer I Объект
ENTITY_TYPE string I Тип объекта
CREATED datetime R Создан
AUTHOR_ID user R Автор
COMMENT string - Текст
FILES raw - Файлы
"""

HISTORY = """
ID integer R ID
TYPE_ID integer R Вид записи
OWNER_ID integer R Владелец
ENTITY_TYPE_ID integer R Тип владельца
CREATED_TIME datetime R Время
CATEGORY_ID integer R Воронка
STAGE_SEMANTIC_ID string R Группа стадии
STAGE_ID string R Стадия
STATUS_SEMANTIC_ID string R Группа стадии лида
STATUS_ID string R Стадия лида
"""

PRODUCTROW = """
ID integer R ID
OWNER_ID integer I Владелец
OWNER_TYPE string I Тип владельца
PRODUCT_ID integer - Товар
PRODUCT_NAME string - Название
PRICE double - Цена
QUANTITY double - Количество
DISCOUNT_TYPE_ID integer - Вид скидки
DISCOUNT_RATE double - Скидка, %
DISCOUNT_SUM double - Сумма скидки
TAX_RATE double - Налог, %
TAX_INCLUDED char - Налог включён
MEASURE_NAME string - Единица
SORT integer - Порядок
"""

STATUS = """
ID integer R ID
ENTITY_ID string I Справочник
STATUS_ID string I Код
NAME string - Название
NAME_INIT string R Исходное название
SORT integer - Порядок
SYSTEM char R Системный
CATEGORY_ID integer R Воронка
COLOR string - Цвет
SEMANTICS string - Группа
"""
