### Что делает метод: заголовок карточки. act- и имя метода, точки заменены дефисами

## Дела и лента карточки

act-crm-activity-todo-updatedescription = Изменить описание дела
act-crm-activity-todo-updatecolor = Изменить цвет дела
act-crm-activity-todo-updatedeadline = Перенести срок дела
act-crm-activity-todo-updateresponsibleuser = Сменить ответственного за дело
act-crm-activity-binding-add = Привязать к ещё одной карточке дело
act-crm-activity-binding-delete = Отвязать от карточки дело
act-crm-activity-binding-move = Перенести в другую карточку дело
act-crm-activity-configurable-add = Добавить дело приложения
act-crm-activity-configurable-get = Посмотреть дело приложения
act-crm-activity-configurable-update = Изменить дело приложения
act-crm-activity-type-add = Создать тип дел
act-crm-activity-type-list = Посмотреть типы дел
act-crm-activity-type-delete = Удалить тип дел
act-crm-activity-badge-add = Создать значок дела
act-crm-activity-badge-get = Посмотреть значок дела
act-crm-activity-badge-list = Посмотреть значки дел
act-crm-activity-badge-delete = Удалить значок дела
act-crm-timeline-logmessage-add = Добавить запись в ленту карточки
act-crm-timeline-logmessage-delete = Удалить запись из ленты карточки
act-crm-timeline-note-save = Сохранить заметку в ленте карточки
act-crm-timeline-note-delete = Удалить заметку из ленты карточки
act-crm-activity-layout-blocks-get = Посмотреть блоки приложения в деле
act-crm-activity-layout-blocks-set = Вывести блоки приложения в деле
act-crm-activity-layout-blocks-delete = Убрать блоки приложения из дела
act-crm-timeline-layout-blocks-get = Посмотреть блоки приложения в ленте
act-crm-timeline-layout-blocks-set = Вывести блоки приложения в ленте
act-crm-timeline-layout-blocks-delete = Убрать блоки приложения из ленты
act-crm-timeline-bindings-bind = Показать запись ленты ещё в одной карточке
act-crm-timeline-bindings-unbind = Больше не показывать запись ленты в карточке
act-crm-timeline-item-pin = Закрепить запись в ленте карточки
act-crm-timeline-item-unpin = Открепить запись в ленте карточки
act-crm-timeline-icon-get = Посмотреть иконку ленты
act-crm-timeline-icon-list = Посмотреть иконки ленты
act-crm-timeline-icon-add = Создать иконку ленты
act-crm-timeline-icon-delete = Удалить иконку ленты
act-crm-timeline-logo-get = Посмотреть логотип ленты
act-crm-timeline-logo-list = Посмотреть логотипы ленты
act-crm-timeline-logo-add = Создать логотип ленты
act-crm-timeline-logo-delete = Удалить логотип ленты

## Приложения и встройки

act-placement-bind = Встроить в портал страницу приложения
act-placement-unbind = Убрать страницу приложения из портала
act-placement-get = Посмотреть встройки приложения
act-placement-list = Посмотреть места для встроек
act-app-option-get = Посмотреть настройки приложения
act-app-option-set = Изменить настройки приложения
act-user-option-get = Посмотреть личные настройки в приложении
act-user-option-set = Изменить личные настройки в приложении
act-userfieldconfig-add = Создать своё поле
act-userfieldconfig-get = Посмотреть своё поле
act-userfieldconfig-list = Посмотреть свои поля
act-userfieldconfig-gettypes = Посмотреть типы своих полей
act-userfieldconfig-update = Изменить своё поле
act-userfieldconfig-delete = Удалить со всеми значениями своё поле
act-userfieldtype-add = Создать тип поля
act-userfieldtype-list = Посмотреть типы полей приложения
act-userfieldtype-update = Изменить тип поля
act-userfieldtype-delete = Удалить тип поля
act-imbot-register = Подключить чат-бота
act-imbot-unregister = Отключить и удалить чат-бота
act-imbot-update = Изменить чат-бота
act-imbot-bot-list = Посмотреть чат-ботов
act-imbot-command-register = Создать команду чат-бота
act-imbot-command-update = Изменить команду чат-бота
act-imbot-command-unregister = Удалить команду чат-бота
act-imbot-chat-add = Создать чат от имени бота
act-imbot-message-add = Отправить сообщение от имени бота
act-imbot-message-update = Изменить сообщение бота
act-imbot-message-delete = Удалить сообщение бота
act-imconnector-register = Создать канал связи для открытых линий
act-imconnector-unregister = Удалить канал связи открытых линий
act-imconnector-activate = Включить или выключить канал открытой линии
act-imconnector-connector-data-set = Изменить данные канала открытой линии
act-imconnector-list = Посмотреть каналы открытых линий
act-imconnector-status = Посмотреть состояние канала открытой линии
act-imconnector-send-messages = Передать сообщения клиентов в открытую линию
act-imconnector-update-messages = Изменить сообщения клиентов в открытой линии
act-imconnector-delete-messages = Удалить сообщения клиентов из открытой линии
act-landing-site-add = Создать сайт
act-landing-site-update = Изменить сайт
act-landing-site-delete = Удалить сайт
act-landing-landing-add = Создать страницу сайта
act-landing-landing-update = Изменить страницу сайта
act-landing-landing-publication = Опубликовать страницу сайта
act-landing-landing-delete = Удалить страницу сайта
act-landing-repo-register = Создать блок для сайтов
act-landing-repo-unregister = Удалить блок для сайтов
act-entity-add = Создать хранилище данных приложения
act-entity-get = Посмотреть хранилища данных приложения
act-entity-update = Изменить хранилище данных приложения
act-entity-rights = Посмотреть или изменить доступ к хранилищу данных приложения
act-entity-delete = Удалить хранилище данных приложения
act-entity-item-add = Создать запись в хранилище приложения
act-entity-item-get = Посмотреть записи в хранилище приложения
act-entity-item-update = Изменить запись в хранилище приложения
act-entity-item-delete = Удалить запись из хранилища приложения
act-entity-section-add = Создать раздел в хранилище приложения
act-entity-section-get = Посмотреть разделы в хранилище приложения
act-entity-section-update = Изменить раздел в хранилище приложения
act-entity-section-delete = Удалить раздел из хранилища приложения
act-entity-item-property-add = Создать свойство записей в хранилище приложения
act-entity-item-property-get = Посмотреть свойства записей в хранилище приложения
act-entity-item-property-update = Изменить свойство записей в хранилище приложения
act-entity-item-property-delete = Удалить свойство записей из хранилища приложения

## Бизнес-процессы и роботы

act-bizproc-workflow-start = Запустить бизнес-процесс
act-bizproc-workflow-terminate = Остановить бизнес-процесс
act-bizproc-workflow-kill = Удалить бизнес-процесс вместе с журналом
act-bizproc-workflow-template-add = Создать шаблон бизнес-процесса
act-bizproc-workflow-template-update = Изменить шаблон бизнес-процесса
act-bizproc-workflow-template-delete = Удалить шаблон бизнес-процесса
act-bizproc-robot-add = Создать робота
act-bizproc-robot-update = Изменить робота
act-bizproc-robot-delete = Удалить робота
act-bizproc-robot-list = Посмотреть роботов
act-bizproc-activity-add = Создать для бизнес-процессов действие
act-bizproc-activity-update = Изменить для бизнес-процессов действие
act-bizproc-activity-delete = Удалить для бизнес-процессов действие
act-bizproc-activity-list = Посмотреть действия для бизнес-процессов
act-bizproc-activity-log = Записать в журнал бизнес-процесса
act-bizproc-task-complete = Ответить на задание бизнес-процесса
act-bizproc-task-delegate = Передать другому задание бизнес-процесса
act-bizproc-event-send = Отправить бизнес-процессу ответ робота
act-crm-automation-trigger = Запустить триггер автоматизации
act-crm-automation-trigger-list = Посмотреть триггеры автоматизации
act-crm-automation-trigger-add = Создать триггер автоматизации
act-crm-automation-trigger-delete = Удалить триггер автоматизации
act-crm-automation-trigger-execute = Запустить триггер автоматизации

## Календарь

act-calendar-section-add = Создать календарь
act-calendar-section-update = Изменить календарь
act-calendar-section-delete = Удалить вместе с событиями календарь
act-calendar-user-settings-set = Изменить личные настройки календаря
act-calendar-meeting-status-set = Ответить на приглашение на встречу
act-calendar-resource-add = Создать ресурс для бронирования
act-calendar-resource-update = Изменить ресурс для бронирования
act-calendar-resource-delete = Удалить вместе с бронями ресурс

## Каталог товаров

act-catalog-product-add = Создать в каталоге товар
act-catalog-product-update = Изменить в каталоге товар
act-catalog-product-delete = Удалить из каталога товар
act-catalog-product-offer-add = Создать вариацию товара
act-catalog-product-offer-update = Изменить вариацию товара
act-catalog-product-offer-delete = Удалить вариацию товара
act-catalog-product-service-add = Создать в каталоге услугу
act-catalog-product-service-update = Изменить в каталоге услугу
act-catalog-product-service-delete = Удалить из каталога услугу
act-catalog-product-sku-add = Создать товар с вариациями
act-catalog-product-sku-update = Изменить товар с вариациями
act-catalog-product-sku-delete = Удалить товар с вариациями
act-catalog-section-add = Создать раздел каталога
act-catalog-section-update = Изменить раздел каталога
act-catalog-section-delete = Удалить раздел каталога
act-catalog-price-add = Создать цену товара
act-catalog-price-update = Изменить цену товара
act-catalog-price-delete = Удалить цену товара
act-catalog-pricetype-add = Создать тип цен
act-catalog-pricetype-update = Изменить тип цен
act-catalog-pricetype-delete = Удалить тип цен
act-catalog-measure-add = Создать единицу измерения
act-catalog-measure-update = Изменить единицу измерения
act-catalog-measure-delete = Удалить единицу измерения
act-catalog-vat-add = Создать ставку НДС
act-catalog-vat-update = Изменить ставку НДС
act-catalog-vat-delete = Удалить ставку НДС
act-catalog-store-add = Создать склад
act-catalog-store-update = Изменить склад
act-catalog-store-delete = Удалить склад
act-catalog-productproperty-add = Создать свойство товаров каталога
act-catalog-productproperty-update = Изменить свойство товаров каталога
act-catalog-productproperty-delete = Удалить свойство товаров каталога
act-catalog-productpropertyenum-add = Создать вариант свойства товаров
act-catalog-productpropertyenum-update = Изменить вариант свойства товаров
act-catalog-productpropertyenum-delete = Удалить вариант свойства товаров
act-catalog-price-modify = Заменить все цены товара

## Чаты и уведомления

act-im-notify = Отправить уведомление сотруднику
act-im-notify-personal-add = Отправить уведомление сотруднику от своего имени
act-im-notify-system-add = Отправить системное уведомление сотруднику
act-im-notify-delete = Удалить уведомление
act-im-message-add = Отправить сообщение в чат
act-im-message-update = Изменить в чате сообщение
act-im-message-delete = Удалить из чата сообщение
act-im-chat-add = Создать чат
act-im-chat-user-add = Добавить участников в чат
act-im-chat-user-delete = Исключить участника из чата
act-im-chat-updatetitle = Переименовать чат
act-im-chat-setowner = Сменить владельца чата
act-im-chat-leave = Выйти из чата
act-im-dialog-read = Отметить прочитанным чат
act-im-dialog-unread = Отметить сообщения непрочитанными в чате
act-im-dialog-read-all = Отметить прочитанными все чаты
act-im-notify-read-all = Отметить прочитанными все уведомления
act-im-notify-read = Отметить прочитанным или непрочитанным уведомление либо все, начиная с него
act-im-notify-read-list = Отметить прочитанными или непрочитанными выбранные уведомления
act-im-recent-pin = Закрепить в списке или открепить чат
act-im-recent-hide = Скрыть из списка чат
act-im-recent-unread = Поставить или снять метку «не прочитано» у чата
act-im-chat-mute = Выключить или включить звук чата
act-im-search-last-add = Добавить в недавний поиск чат
act-im-search-last-delete = Убрать из недавнего поиска чат
act-im-user-status-set = Изменить свой статус в чатах
act-im-user-status-idle-start = Поставить статус «отошёл»
act-im-user-status-idle-end = Снять статус «отошёл»
act-im-notify-confirm = Нажать кнопку в уведомлении
act-im-notify-answer = Ответить на уведомление
act-im-dialog-writing = Показать «печатает…» в чате
act-im-message-like = Поставить или снять отметку «Нравится» у сообщения
act-im-message-share = Создать чат, задачу, запись или встречу из сообщения
act-im-message-command = Выполнить команду бота из сообщения
act-im-chat-updatecolor = Изменить цвет чата
act-im-chat-updateavatar = Изменить картинку чата
act-im-disk-file-commit = Отправить файл в чат
act-im-disk-file-save = Сохранить файл из чата на свой Диск
act-im-disk-file-delete = Удалить файл из чата

## Справочники CRM

act-crm-status-add = Создать в справочнике (стадии, источники, типы) значение
act-crm-status-update = Изменить в справочнике (стадии, источники, типы) значение
act-crm-status-delete = Удалить из справочника (стадии, источники, типы) значение
act-crm-category-add = Создать воронку
act-crm-category-update = Изменить воронку
act-crm-category-delete = Удалить вместе со стадиями воронку
act-crm-dealcategory-add = Создать воронку
act-crm-dealcategory-update = Изменить воронку
act-crm-dealcategory-default-set = Переименовать основную воронку
act-crm-dealcategory-delete = Удалить вместе со стадиями воронку
act-crm-type-add = Создать смарт-процесс
act-crm-type-update = Изменить смарт-процесс
act-crm-type-delete = Удалить смарт-процесс
act-crm-automatedsolution-add = Создать цифровое рабочее место
act-crm-automatedsolution-update = Изменить цифровое рабочее место
act-crm-automatedsolution-delete = Удалить цифровое рабочее место
act-crm-currency-add = Создать валюту
act-crm-currency-update = Изменить валюту
act-crm-currency-delete = Удалить валюту
act-crm-currency-base-set = Сменить основную валюту
act-crm-currency-localizations-set = Изменить написание сумм в валюте
act-crm-currency-localizations-delete = Сбросить написание сумм в валюте
act-crm-measure-add = Создать единицу измерения
act-crm-measure-update = Изменить единицу измерения
act-crm-measure-delete = Удалить единицу измерения
act-crm-vat-add = Создать ставку НДС
act-crm-vat-update = Изменить ставку НДС
act-crm-vat-delete = Удалить ставку НДС
act-crm-product-add = Создать в каталоге товар
act-crm-product-update = Изменить в каталоге товар
act-crm-product-delete = Удалить из каталога товар
act-crm-productsection-add = Создать раздел каталога
act-crm-productsection-update = Изменить раздел каталога
act-crm-productsection-delete = Удалить раздел каталога
act-crm-product-property-add = Создать свойство товаров каталога
act-crm-product-property-update = Изменить свойство товаров каталога
act-crm-product-property-delete = Удалить свойство товаров каталога
act-crm-invoice-status-add = Создать статус старых счетов
act-crm-invoice-status-update = Изменить статус старых счетов
act-crm-invoice-status-delete = Удалить статус старых счетов

## Дубли

act-crm-entity-mergebatch = Объединить дубли: останется только первая карточка
act-crm-duplicate-volatiletype-register = Добавить поле в поиск дублей
act-crm-duplicate-volatiletype-unregister = Убрать поле из поиска дублей

## Реквизиты и адреса

act-crm-requisite-add = Создать реквизиты
act-crm-requisite-update = Изменить реквизиты
act-crm-requisite-delete = Удалить реквизиты
act-crm-requisite-bankdetail-add = Создать банковские реквизиты
act-crm-requisite-bankdetail-update = Изменить банковские реквизиты
act-crm-requisite-bankdetail-delete = Удалить банковские реквизиты
act-crm-address-add = Создать адрес
act-crm-address-update = Изменить адрес
act-crm-address-delete = Удалить адрес
act-crm-requisite-link-register = Выбрать реквизиты для карточки
act-crm-requisite-link-unregister = Убрать выбранные реквизиты из карточки
act-crm-requisite-preset-add = Создать шаблон реквизитов
act-crm-requisite-preset-update = Изменить шаблон реквизитов
act-crm-requisite-preset-delete = Удалить шаблон реквизитов
act-crm-requisite-preset-field-add = Создать поле в шаблоне реквизитов
act-crm-requisite-preset-field-update = Изменить поле в шаблоне реквизитов
act-crm-requisite-preset-field-delete = Удалить поле из шаблона реквизитов

## Документы

act-crm-documentgenerator-document-add = Создать документ по шаблону в карточке
act-crm-documentgenerator-document-update = Изменить и собрать заново документ
act-crm-documentgenerator-document-upload = Загрузить готовый документ в карточку
act-crm-documentgenerator-document-delete = Удалить документ
act-crm-documentgenerator-document-enablepublicurl = Открыть или закрыть публичную ссылку на документ
act-crm-documentgenerator-template-add = Создать шаблон документов
act-crm-documentgenerator-template-update = Изменить шаблон документов
act-crm-documentgenerator-template-delete = Удалить шаблон документов
act-crm-documentgenerator-numerator-add = Создать нумератор документов
act-crm-documentgenerator-numerator-update = Изменить нумератор документов
act-crm-documentgenerator-numerator-delete = Удалить нумератор документов

## Старые счета

act-crm-invoice-add = Создать счёт (старого вида)
act-crm-invoice-update = Изменить счёт (старого вида)
act-crm-invoice-delete = Удалить счёт (старого вида)
act-crm-invoice-recurring-add = Создать регулярный счёт (старого вида)
act-crm-invoice-recurring-update = Изменить регулярный счёт (старого вида)
act-crm-invoice-recurring-delete = Удалить регулярный счёт (старого вида)
act-crm-invoice-recurring-expose = Выставить сейчас счёт по регулярному (старого вида)
act-crm-invoice-getexternallink = Получить публичную ссылку на счёт (старого вида)

## Обзвон и сквозная аналитика

act-crm-calllist-add = Создать обзвон
act-crm-calllist-update = Заменить участников обзвона
act-crm-tracking-trace-add = Записать путь клиента (откуда пришёл)
act-crm-tracking-trace-delete = Удалить путь клиента (откуда пришёл)

## Связи записей

act-crm-deal-contact-add = Привязать контакт к сделке
act-crm-deal-contact-delete = Отвязать контакт от сделки
act-crm-deal-contact-items-set = Заменить все контакты сделки
act-crm-deal-contact-items-delete = Отвязать все контакты от сделки
act-crm-lead-contact-add = Привязать контакт к лиду
act-crm-lead-contact-delete = Отвязать контакт от лида
act-crm-lead-contact-items-set = Заменить все контакты лида
act-crm-lead-contact-items-delete = Отвязать все контакты от лида
act-crm-contact-company-add = Привязать компанию к контакту
act-crm-contact-company-delete = Отвязать компанию от контакта
act-crm-contact-company-items-set = Заменить все компании контакта
act-crm-contact-company-items-delete = Отвязать все компании от контакта
act-crm-company-contact-add = Привязать контакт к компании
act-crm-company-contact-delete = Отвязать контакт от компании
act-crm-company-contact-items-set = Заменить все контакты компании
act-crm-company-contact-items-delete = Отвязать все контакты от компании
act-crm-quote-contact-add = Привязать контакт к предложению
act-crm-quote-contact-delete = Отвязать контакт от предложения
act-crm-quote-contact-items-set = Заменить все контакты предложения
act-crm-quote-contact-items-delete = Отвязать все контакты от предложения
act-crm-orderentity-add = Привязать заказ магазина к карточке
act-crm-orderentity-deletebyfilter = Отвязать заказы магазина от карточки

## Предложения

act-crm-quote-add = Создать предложение
act-crm-quote-update = Изменить предложение
act-crm-quote-delete = Удалить предложение

## Товары в карточках

act-crm-deal-productrows-set = Заменить все товары сделки
act-crm-lead-productrows-set = Заменить все товары лида
act-crm-quote-productrows-set = Заменить все товары предложения
act-crm-item-productrow-add = Добавить товар в карточку
act-crm-item-productrow-update = Изменить строку товара
act-crm-item-productrow-delete = Убрать строку товара
act-crm-item-productrow-set = Заменить все товары в карточке

## Оплаты

act-crm-item-payment-add = Создать оплату в карточке
act-crm-item-payment-update = Изменить оплату
act-crm-item-payment-delete = Удалить оплату
act-crm-item-payment-pay = Отметить полученной оплату
act-crm-item-payment-unpay = Снять отметку о получении оплаты
act-crm-item-payment-product-add = Добавить товар в оплату
act-crm-item-payment-product-delete = Убрать товар из оплаты
act-crm-item-payment-product-setquantity = Изменить количество товара в оплате
act-crm-item-payment-delivery-add = Добавить доставку в оплату
act-crm-item-payment-delivery-delete = Убрать доставку из оплаты
act-crm-item-payment-delivery-setdelivery = Заменить доставку в оплате
act-salescenter-payment-getpublicurl = Получить публичную ссылку на оплату

## Регулярные сделки

act-crm-deal-recurring-add = Создать регулярную сделку
act-crm-deal-recurring-update = Изменить регулярную сделку
act-crm-deal-recurring-delete = Удалить регулярную сделку
act-crm-deal-recurring-expose = Создать сейчас сделку по регулярной

## Загрузка записей

act-crm-item-import = Загрузить в CRM без роботов запись
act-crm-item-batchimport = Загрузить в CRM без роботов несколько записей

## Свои поля

act-crm-deal-userfield-add = Создать поле сделок
act-crm-deal-userfield-update = Изменить поле сделок
act-crm-deal-userfield-delete = Удалить со всеми значениями поле сделок
act-crm-lead-userfield-add = Создать поле лидов
act-crm-lead-userfield-update = Изменить поле лидов
act-crm-lead-userfield-delete = Удалить со всеми значениями поле лидов
act-crm-contact-userfield-add = Создать поле контактов
act-crm-contact-userfield-update = Изменить поле контактов
act-crm-contact-userfield-delete = Удалить со всеми значениями поле контактов
act-crm-company-userfield-add = Создать поле компаний
act-crm-company-userfield-update = Изменить поле компаний
act-crm-company-userfield-delete = Удалить со всеми значениями поле компаний
act-crm-quote-userfield-add = Создать поле предложений
act-crm-quote-userfield-update = Изменить поле предложений
act-crm-quote-userfield-delete = Удалить со всеми значениями поле предложений
act-crm-requisite-userfield-add = Создать поле реквизитов
act-crm-requisite-userfield-update = Изменить поле реквизитов
act-crm-requisite-userfield-delete = Удалить со всеми значениями поле реквизитов
act-user-userfield-add = Создать поле сотрудников
act-user-userfield-update = Изменить поле сотрудников
act-user-userfield-delete = Удалить со всеми значениями поле сотрудников
act-task-item-userfield-add = Создать поле задач
act-task-item-userfield-update = Изменить поле задач
act-task-item-userfield-delete = Удалить со всеми значениями поле задач

## Вид карточек

act-crm-deal-details-configuration-set = Изменить вид карточки сделки
act-crm-deal-details-configuration-reset = Сбросить вид карточки сделки
act-crm-deal-details-configuration-forcecommonscopeforall = Включить всем общий вид карточки сделки
act-crm-lead-details-configuration-set = Изменить вид карточки лида
act-crm-lead-details-configuration-reset = Сбросить вид карточки лида
act-crm-lead-details-configuration-forcecommonscopeforall = Включить всем общий вид карточки лида
act-crm-contact-details-configuration-set = Изменить вид карточки контакта
act-crm-contact-details-configuration-reset = Сбросить вид карточки контакта
act-crm-contact-details-configuration-forcecommonscopeforall = Включить всем общий вид карточки контакта
act-crm-company-details-configuration-set = Изменить вид карточки компании
act-crm-company-details-configuration-reset = Сбросить вид карточки компании
act-crm-company-details-configuration-forcecommonscopeforall = Включить всем общий вид карточки компании
act-crm-item-details-configuration-set = Изменить вид карточки записи
act-crm-item-details-configuration-reset = Сбросить вид карточки записи
act-crm-item-details-configuration-forcecommonscopeforall = Включить всем общий вид карточки записи

## Диск

act-disk-file-delete = Удалить навсегда файл
act-disk-file-markdeleted = Убрать в корзину файл
act-disk-folder-deletetree = Удалить навсегда папку со всем содержимым
act-disk-folder-markdeleted = Убрать в корзину папку
act-disk-file-restore = Вернуть из корзины файл
act-disk-folder-restore = Вернуть из корзины папку
act-disk-folder-uploadfile = Загрузить файл в папку
act-disk-storage-addfolder = Создать папку на Диске
act-disk-folder-addsubfolder = Создать папку внутри папки
act-disk-storage-uploadfile = Загрузить файл на Диск
act-disk-file-uploadversion = Загрузить новую версию файла
act-disk-file-restorefromversion = Вернуть прежнюю версию файла
act-disk-file-rename = Переименовать файл
act-disk-file-moveto = Переместить файл
act-disk-file-copyto = Скопировать файл
act-disk-file-getexternallink = Открыть по ссылке для всех файл
act-disk-folder-rename = Переименовать папку
act-disk-folder-moveto = Переместить папку
act-disk-folder-copyto = Скопировать папку
act-disk-folder-getexternallink = Открыть по ссылке для всех папку
act-disk-folder-sharetouser = Открыть сотруднику доступ к папке
act-disk-storage-rename = Переименовать Диск

## События портала

act-event-bind = Подписаться на события портала
act-event-unbind = Отписаться от событий портала
act-event-test = Отправить проверочное событие портала
act-event-offline-get = Забрать накопленные события портала
act-event-offline-clear = Очистить очередь событий портала
act-event-offline-error = Отметить ошибку в очереди событий портала

## Списки

act-lists-element-add = Создать в списке запись
act-lists-element-update = Перезаписать в списке все поля записи
act-lists-element-delete = Удалить из списка запись
act-lists-add = Создать список
act-lists-update = Изменить список
act-lists-delete = Удалить со всеми записями список
act-lists-section-add = Создать раздел списка
act-lists-section-update = Изменить раздел списка
act-lists-section-delete = Удалить раздел списка
act-lists-field-add = Создать поле списка
act-lists-field-update = Изменить поле списка
act-lists-field-delete = Удалить поле списка

## Рабочий день и новости

act-timeman-open = Начать рабочий день сотрудника
act-timeman-close = Завершить рабочий день сотрудника
act-timeman-pause = Поставить на паузу рабочий день сотрудника
act-log-blogpost-add = Опубликовать в ленте новостей сообщение
act-log-blogpost-update = Изменить в ленте новостей сообщение
act-log-blogpost-share = Показать новым людям сообщение из ленты новостей
act-log-blogpost-delete = Удалить из ленты новостей сообщение
act-log-blogcomment-add = Прокомментировать сообщение в ленте новостей
act-log-blogcomment-delete = Удалить комментарий из ленты новостей

## Открытые линии

act-imopenlines-crm-message-add = Отправить через открытую линию сообщение клиенту из карточки
act-imopenlines-crm-lead-create = Создать лид из диалога открытой линии
act-imopenlines-crm-chat-user-add = Добавить сотрудника в чат с клиентом
act-imopenlines-crm-chat-user-delete = Исключить сотрудника из чата с клиентом
act-imopenlines-message-quick-save = Сохранить сообщение как быстрый ответ для всех операторов
act-imopenlines-operator-answer = Принять диалог с клиентом
act-imopenlines-operator-skip = Пропустить диалог с клиентом
act-imopenlines-operator-transfer = Передать другому диалог с клиентом
act-imopenlines-session-intercept = Перехватить диалог с клиентом
act-imopenlines-session-join = Присоединиться к диалогу с клиентом
act-imopenlines-session-start = Начать новый диалог в чате с клиентом
act-imopenlines-message-session-start = Начать новый диалог с выбранного сообщения клиента
act-imopenlines-session-mode-pin = Закрепить за собой или открепить диалог с клиентом
act-imopenlines-session-mode-pinall = Закрепить за собой все диалоги с клиентами
act-imopenlines-session-mode-unpinall = Открепить от себя все диалоги с клиентами
act-imopenlines-session-mode-silent = Включить или выключить скрытый режим в диалоге с клиентом
act-imopenlines-session-head-vote = Оценить диалог с клиентом как руководитель
act-imopenlines-operator-finish = Завершить диалог с клиентом
act-imopenlines-operator-another-finish = Завершить диалог другого оператора с клиентом
act-imopenlines-operator-spam = Отметить как спам и завершить диалог с клиентом
act-imopenlines-network-message-add = Отправить сообщение пользователю Битрикс24 от имени открытой линии
act-imopenlines-bot-session-finish = Завершить диалог бота с клиентом
act-imopenlines-bot-session-message-send = Отправить автоответ бота клиенту
act-imopenlines-bot-session-operator = Перевести диалог с бота на свободного оператора
act-imopenlines-bot-session-transfer = Перевести диалог с бота на выбранного оператора
act-imopenlines-network-join = Подключить внешнюю открытую линию
act-imopenlines-config-add = Создать открытую линию
act-imopenlines-config-update = Изменить настройки открытой линии
act-imopenlines-config-delete = Удалить открытую линию

## Сотрудники и отделы

act-user-add = Пригласить на портал сотрудника
act-user-update = Изменить данные сотрудника
act-department-add = Создать отдел
act-department-update = Изменить отдел
act-department-delete = Удалить отдел

## Группы и проекты

act-sonet_group-create = Создать группу
act-sonet_group-update = Изменить группу
act-sonet_group-delete = Удалить группу вместе с её задачами и файлами
act-sonet_group-setowner = Сменить владельца группы
act-sonet_group-user-add = Добавить участников в группу
act-sonet_group-user-invite = Пригласить участников в группу
act-sonet_group-user-request = Попроситься в группу
act-sonet_group-user-update = Изменить роль участника группы
act-sonet_group-user-delete = Исключить участника из группы

## Задачи

act-tasks-task-delegate = Делегировать задачу
act-tasks-task-chat-message-send = Отправить сообщение в чат задачи
act-task-checklistitem-add = Добавить пункт чек-листа в задачу
act-task-checklistitem-update = Изменить пункт чек-листа задачи
act-task-checklistitem-complete = Отметить выполненным пункт чек-листа задачи
act-task-checklistitem-renew = Снять отметку с пункта чек-листа задачи
act-task-checklistitem-moveafteritem = Переставить пункт чек-листа задачи
act-task-checklistitem-delete = Убрать пункт чек-листа из задачи
act-task-commentitem-add = Добавить комментарий к задаче
act-task-commentitem-update = Изменить комментарий к задаче
act-task-commentitem-delete = Удалить комментарий к задаче
act-task-dependence-add = Связать с другой задачей задачу
act-task-dependence-delete = Убрать связь с другой задачей у задачи
act-task-elapseditem-add = Записать затраченное время в задачу
act-task-elapseditem-update = Изменить затраченное время в задаче
act-task-elapseditem-delete = Удалить затраченное время из задачи
act-tasks-task-startwatch = Начать наблюдать за задачей
act-tasks-task-stopwatch = Перестать наблюдать за задачей
act-tasks-task-favorite-add = Добавить в избранное задачу
act-tasks-task-favorite-remove = Убрать из избранного задачу
act-tasks-task-pin = Закрепить в списке задачу
act-tasks-task-unpin = Открепить в списке задачу
act-tasks-task-mute = Выключить уведомления по задаче
act-tasks-task-unmute = Включить уведомления по задаче
act-tasks-task-result-addfromcomment = Отметить комментарий как результат задачи
act-tasks-task-result-deletefromcomment = Снять с комментария отметку «результат задачи»
act-task-stages-movetask = Переместить по канбану задачу
act-task-stages-add = Создать стадию канбана задач
act-task-stages-update = Изменить стадию канбана задач
act-task-stages-delete = Удалить стадию канбана задач
act-tasks-flow-flow-create = Создать поток задач
act-tasks-flow-flow-update = Изменить поток задач
act-tasks-flow-flow-activate = Включить или выключить поток задач
act-tasks-flow-flow-delete = Удалить поток задач
act-tasks-template-add = Создать шаблон задачи
act-tasks-template-update = Изменить шаблон задачи
act-tasks-template-delete = Удалить шаблон задачи
act-tasks-template-checklist-add = Добавить пункт чек-листа в шаблон задачи
act-tasks-template-checklist-update = Изменить пункт чек-листа в шаблоне задачи
act-tasks-template-checklist-complete = Отметить выполненным пункт чек-листа в шаблоне задачи
act-tasks-template-checklist-renew = Снять отметку с пункта чек-листа в шаблоне задачи
act-tasks-template-checklist-delete = Убрать пункт чек-листа из шаблона задачи

## Телефония

act-telephony-externalcall-register = Зарегистрировать звонок
act-telephony-externalcall-finish = Завершить звонок и записать его в карточку
act-telephony-externalcall-show = Показать сотруднику карточку звонка
act-telephony-externalcall-hide = Скрыть у сотрудника карточку звонка
act-telephony-externalcall-attachrecord = Приложить запись разговора к звонку
act-telephony-call-attachtranscription = Приложить расшифровку разговора к звонку
act-voximplant-callback-start = Позвонить клиенту (обратный звонок)
act-voximplant-infocall-startwithtext = Позвонить клиенту роботом и прочитать текст
act-voximplant-infocall-startwithsound = Позвонить клиенту роботом и проиграть запись
act-telephony-externalline-get = Посмотреть внешние линии
act-telephony-externalline-add = Создать внешнюю линию
act-telephony-externalline-update = Изменить внешнюю линию
act-telephony-externalline-delete = Удалить внешнюю линию
act-voximplant-sip-get = Посмотреть SIP-линии с паролями
act-voximplant-sip-status = Посмотреть состояние SIP-линии
act-voximplant-sip-add = Создать SIP-линию
act-voximplant-sip-update = Изменить SIP-линию
act-voximplant-sip-delete = Удалить SIP-линию
act-voximplant-user-get = Посмотреть телефонию сотрудников с паролями
act-voximplant-line-outgoing-set = Выбрать номер для исходящих звонков
act-voximplant-line-outgoing-sip-set = Выбрать SIP-линию для исходящих звонков
act-voximplant-user-activatephone = Разрешить сотруднику SIP-телефон
act-voximplant-user-deactivatephone = Отключить сотруднику SIP-телефон

## Вне портала: Telegram, база данных, расписание, адреса, сценарии

act-reminder-add = Поставить напоминание
act-reminder-cancel = Отменить напоминание
act-reminder-move = Перенести напоминание
act-order-add = Дать постоянное поручение
act-order-change = Изменить поручение
act-order-remove = Снять поручение
act-order-list = Посмотреть поручения
act-method-help = Узнать, что нужно методу
act-history-of = Посмотреть, кто менял запись
act-day = Показать ваш день
act-report = Посчитать отчёт
act-ask_documents = Посмотреть в документах компании
act-change-all = Изменить записи по условию
act-person-handover = Передать от одного сотрудника другим
act-bulk-undo = Вернуть, как было
count-record = { $count ->
    [one] { $count } запись
    [few] { $count } записи
   *[other] { $count } записей
}
act-schedule-run-add = Запланировать запуск сценария
act-http-get = Запросить данные с сайта
act-http-post = Отправить данные на сайт
act-http-put = Записать данные на сайт
act-http-patch = Отправить изменения на сайт
act-http-delete = Удалить на сайте
act-file-create = Создать файл
act-file-write = Записать файл
act-file-append = Дописать в файл
act-file-delete = Удалить файл
act-telegram-send_message = Отправить сообщение в Telegram
act-telegram-send_photo = Отправить картинку в Telegram
act-telegram-send_document = Отправить файл в Telegram
act-telegram-edit_message = Изменить отправленное сообщение в Telegram
act-telegram-delete_message = Удалить отправленное сообщение в Telegram
act-mongo-insert_one = Добавить запись в базу
act-mongo-insert_many = Добавить записи в базу
act-mongo-update_one = Изменить запись в базе
act-mongo-update_many = Изменить записи в базе
act-mongo-delete_one = Удалить запись из базы
act-mongo-delete_many = Удалить записи из базы
