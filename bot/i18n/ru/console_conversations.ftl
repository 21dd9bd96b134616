# The pages of conversations in the console.
console-conversations = Диалоги
console-conversation = Диалог
console-talk-none = Диалогов пока нет.
console-talk-not-found = Никого с таким именем.
console-talk-search = Имя
console-talk-group = Группа { $chat }
console-talk-cards = { $count ->
    [one] { $count } карточка ждёт
    [few] { $count } карточки ждут
   *[other] { $count } карточек ждут
  }
console-talk-unknown = { $count ->
    [one] { $count } исход неизвестен
    [few] { $count } исхода неизвестны
   *[other] { $count } исходов неизвестны
  }
console-talk-older = Показать раньше
console-talk-more = Показать ещё
console-talk-end-button = К последнему
console-talk-list = Все диалоги
console-talk-details = Подробно
console-talk-quoted = Чужой текст, который приложен
console-talk-thought = Мысли модели
console-talk-thought-of = Мысли модели ({ $model })
console-talk-erased = (удалено по просьбе человека)
console-talk-why = Разобрать вызов
console-talk-kind = { $kind ->
    [asked] Запрос
    [thought] Мысли
    [proposed] Предложено
    [read] Прочитано
    [card] Карточка
    [decided] Решение
    [sent] Отправлено
    [outcome] Результат
    [refused] Не пропущено
    [failed] Сбой
    [question] Вопрос
    [answered] Ответ
   *[notice] Событие
  }
console-talk-origin = { $origin ->
    [voice] голосом
    [choice] выбор кнопкой
    [button] кнопкой
    [portal] изменение в Битрикс24
   *[typed] {""}
  }
console-talk-only-planned = План только записан, ничего не отправлено
console-talk-model-failed = Модель не ответила, или её ответ не по форме
console-talk-found = найдено: { $count }
console-talk-unchanged = В Битрикс24 нет отправленных значений: { $fields }
console-talk-outcome = { $state ->
    [executed] Выполнено
    [refused] Не выполнено
   *[unknown] Исход неизвестен: ответ потерян
  }
console-talk-verdict = { $verdict ->
    [done] Проверено: выполнено
    [not_done] Проверено: не выполнено
   *[unclear] Проверено: всё ещё неясно
  }
console-talk-decision = { $state ->
    [approved] Одобрено
    [denied] Отклонено
    [expired] Никто не решил вовремя
    [superseded] Карточка закрыта: она больше не подходит
   *[requested] Карточка снова ждёт решения
  }
console-talk-not-counted = Решение не засчитано
console-talk-end = { $reason ->
    [limit] Остановлено: слишком много шагов
    [degraded] Продолжено без модели
    [planned] Только план: в этом режиме ничего не отправляется
    [stopped] Остановлено человеком
    [budget] Закончено без модели: бюджет месяца исчерпан
   *[failed] Запрос не удалось выполнить
  }
console-talk-resumed = Продолжено: последняя карточка решена
console-talk-cleared = Разговор начат заново
console-talk-stopped = Остановлено командой /stop
console-talk-dropped = Запрос не выполнен: его остановили раньше
console-talk-edited = Сообщение исправлено
console-talk-reminder-set = Поставлено напоминание
console-talk-reminded = Напоминание отправлено
console-talk-reminder-dropped = Напоминание убрано
console-talk-daily = Отправлена ежедневная сводка
console-talk-budget = Израсходовано { $percent } % бюджета месяца
console-talk-entered = Вход в консоль
console-talk-edit = Начато исправление карточки
console-talk-chosen = Выбрано
