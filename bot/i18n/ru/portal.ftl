# What changed in the portal without the person's doing. Fluent drops blanks at the ends of a value, so the code adds them.
news-deal = Сделка
news-lead = Лид
news-task = Задача
news-item = Запись CRM
news-added-deal = Новая сделка
news-added-lead = Новый лид
news-added-task = Новая задача
news-added-item = Новая запись CRM
news-deleted-deal = Сделка удалена:
news-deleted-lead = Лид удалён:
news-deleted-task = Задача удалена:
news-deleted-item = Запись CRM удалена:
news-changed-by = изменено: { $who }
news-added-by = создано: { $who }
news-deleted-by = удалено: { $who }
news-via = { $name } через Sdelka
news-several = { $count ->
    [one] Изменилась { $count } запись
    [few] Изменились { $count } записи
   *[other] Изменилось { $count } записей
}
news-more = и ещё { $count }
