# Заголовок карточки: что сделать и с чем
verb-add-deal = Создать сделку
verb-update-deal = Изменить сделку
verb-delete-deal = Удалить сделку
verb-set-deal = Заменить состав сделки
verb-get-deal = Открыть сделку
verb-list-deal = Найти сделки
verb-add-lead = Создать лид
verb-update-lead = Изменить лид
verb-delete-lead = Удалить лид
verb-get-lead = Открыть лид
verb-list-lead = Найти лиды
verb-add-contact = Создать контакт
verb-update-contact = Изменить контакт
verb-delete-contact = Удалить контакт
verb-get-contact = Открыть контакт
verb-list-contact = Найти контакты
verb-add-company = Создать компанию
verb-update-company = Изменить компанию
verb-delete-company = Удалить компанию
verb-get-company = Открыть компанию
verb-list-company = Найти компании
verb-add-item = Создать элемент
verb-update-item = Изменить элемент
verb-delete-item = Удалить элемент
verb-get-item = Открыть элемент
verb-list-item = Найти элементы
verb-add-smartinvoice = Создать счёт
verb-update-smartinvoice = Изменить счёт
verb-delete-smartinvoice = Удалить счёт
verb-get-smartinvoice = Открыть счёт
verb-list-smartinvoice = Найти счета
verb-add-quote = Создать предложение
verb-update-quote = Изменить предложение
verb-delete-quote = Удалить предложение
verb-get-quote = Открыть предложение
verb-list-quote = Найти предложения
verb-add-task = Поставить задачу
verb-update-task = Изменить задачу
verb-delete-task = Удалить задачу
verb-get-task = Открыть задачу
verb-list-task = Найти задачи
verb-start-task = Начать задачу
verb-pause-task = Приостановить задачу
verb-defer-task = Отложить задачу
verb-complete-task = Завершить задачу
verb-renew-task = Возобновить задачу
verb-approve-task = Принять задачу
verb-disapprove-task = Вернуть задачу на доработку
verb-attach-task = Приложить файл к задаче
verb-add-activity = Запланировать дело в карточке
verb-add-meeting = Запланировать встречу в карточке
verb-add-phonecall = Записать звонок в карточку
verb-add-plannedcall = Запланировать звонок в карточке
verb-add-email = Отправить письмо из карточки
verb-add-emailrecord = Добавить письмо в карточку
verb-update-activity = Изменить дело
verb-delete-activity = Удалить дело
verb-get-activity = Открыть дело
verb-list-activity = Найти дела
verb-add-comment = Добавить комментарий в карточку
verb-update-comment = Изменить комментарий
verb-delete-comment = Удалить комментарий
verb-list-comment = Прочитать комментарии
verb-add-checklistitem = Добавить пункт чек-листа
verb-update-checklistitem = Изменить пункт чек-листа
verb-complete-checklistitem = Отметить пункт чек-листа
verb-delete-checklistitem = Убрать пункт чек-листа
verb-add-productrow = Добавить товар
verb-update-productrow = Изменить товар
verb-delete-productrow = Убрать товар
verb-set-productrow = Заменить товары
verb-add-event = Создать в календаре событие
verb-update-event = Изменить в календаре событие
verb-delete-event = Удалить из календаря событие
verb-bind-binding = Подписаться на события портала
verb-unbind-binding = Отписаться от событий портала
verb-add-message = Отправить сообщение
verb-notify-message = Отправить уведомление
verb-update-todo = Изменить дело
verb-add-todo = Создать дело
verb-delete-todo = Удалить дело
verb-get-todo = Посмотреть дело
verb-list-todo = Посмотреть дела
verb-get-comment = Посмотреть комментарий
verb-get-productrow = Посмотреть товары сделки
verb-list-productrow = Посмотреть товары
verb-update-checklist = Изменить пункт чек-листа
verb-add-checklist = Добавить пункт чек-листа
verb-delete-checklist = Удалить пункт чек-листа
verb-get-checklist = Посмотреть пункт чек-листа
verb-list-checklist = Посмотреть чек-лист
verb-update-user = Изменить сотрудника
verb-add-user = Создать сотрудника
verb-delete-user = Удалить сотрудника
verb-get-user = Посмотреть сотрудника
verb-list-user = Посмотреть сотрудников
verb-get-event = Посмотреть подписку на событие
verb-list-event = Посмотреть подписки на события
verb-update-message = Изменить сообщение
verb-delete-message = Удалить сообщение
verb-get-message = Посмотреть сообщение
verb-list-message = Посмотреть сообщения
verb-update-notification = Изменить уведомление
verb-add-notification = Создать уведомление
verb-delete-notification = Удалить уведомление
verb-get-notification = Посмотреть уведомление
verb-list-notification = Посмотреть уведомления
verb-update-stage = Изменить стадию
verb-add-stage = Создать стадию
verb-delete-stage = Удалить стадию
verb-get-stage = Посмотреть стадию
verb-list-stage = Посмотреть стадии
verb-update-category = Изменить воронку
verb-add-category = Создать воронку
verb-delete-category = Удалить воронку
verb-get-category = Посмотреть воронку
verb-list-category = Посмотреть воронки

## Заголовок карточки с несколькими командами
batch-add = { $kind ->
    [task] Поставить
    [comment] Добавить
    [productrow] Добавить
    [checklistitem] Добавить
    [activity] Запланировать
   *[other] Создать
  } { $what }
batch-update = Изменить { $what }
batch-delete = Удалить { $what }
count-deal = { $count } { $count ->
    [one] сделку
    [few] сделки
   *[other] сделок
  }
count-lead = { $count } { $count ->
    [one] лид
    [few] лида
   *[other] лидов
  }
count-contact = { $count } { $count ->
    [one] контакт
    [few] контакта
   *[other] контактов
  }
count-company = { $count } { $count ->
    [one] компанию
    [few] компании
   *[other] компаний
  }
count-item = { $count } { $count ->
    [one] элемент
    [few] элемента
   *[other] элементов
  }
count-smartinvoice = { $count } { $count ->
    [one] счёт
    [few] счета
   *[other] счетов
  }
count-quote = { $count } { $count ->
    [one] предложение
    [few] предложения
   *[other] предложений
  }
count-task = { $count } { $count ->
    [one] задачу
    [few] задачи
   *[other] задач
  }
count-activity = { $count } { $count ->
    [one] дело
    [few] дела
   *[other] дел
  }
count-todo = { $count } { $count ->
    [one] дело
    [few] дела
   *[other] дел
  }
count-comment = { $count } { $count ->
    [one] комментарий
    [few] комментария
   *[other] комментариев
  }
count-productrow = { $count } { $count ->
    [one] товар
    [few] товара
   *[other] товаров
  }
count-checklistitem = { $count } { $count ->
    [one] пункт чек-листа
    [few] пункта чек-листа
   *[other] пунктов чек-листа
  }
count-event = { $count } { $count ->
    [one] событие календаря
    [few] события календаря
   *[other] событий календаря
  }
count-stage = { $count } { $count ->
    [one] стадию
    [few] стадии
   *[other] стадий
  }
count-category = { $count } { $count ->
    [one] воронку
    [few] воронки
   *[other] воронок
  }
count-user = { $count } { $count ->
    [one] сотрудника
    [few] сотрудников
   *[other] сотрудников
  }
verb-get-document = Прочитать запись базы
verb-list-document = Найти записи в базе
