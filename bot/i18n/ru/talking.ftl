heard = Услышал: «{ $words }»
hearing = Слушаю…
voice-off = Голос не подключён, напишите текстом.
voice-too-long = Запись слишком длинная. Уложитесь в { $minutes ->
    [one] { $minutes } минуту
    [few] { $minutes } минуты
   *[other] { $minutes } минут
} или напишите текстом.
voice-unavailable = Telegram не отдал запись. Пришлите её ещё раз или напишите текстом.
voice-failed = Не получилось расшифровать запись. Попробуйте ещё раз чуть позже или напишите текстом.
voice-empty = На записи не слышно слов. Повторите или напишите текстом.
edited = Вы изменили сообщение, а я принял прежний текст.
edited-done = Вы изменили сообщение, но по прежнему тексту уже выполнено. Если нужно что-то ещё — напишите новым сообщением.
button-again = ↻ Выполнить заново
button-make-lead = Завести лид
button-make-task = Создать задачу
button-requeue = Вернуть в очередь
toast-doing = Делаю
toast-already = Уже делаю — второй раз не нужно
toast-edit-gone = Этот текст уже не последний. Пришлите его новым сообщением
toast-forward-gone = Этого сообщения у меня уже нет. Перешлите его ещё раз
choice-not-yours = Здесь выбирает тот, кто спрашивал
toast-not-yours = Это может сделать тот, кто прислал сообщение
toast-requeued = { $count ->
    [0] Уже возвращено
    [one] Вернул { $count } запрос
    [few] Вернул { $count } запроса
   *[other] Вернул { $count } запросов
}
stop-queue = { $count ->
    [one] В очереди был ещё { $count } запрос — снял.
    [few] В очереди было ещё { $count } запроса — снял.
   *[other] В очереди было ещё { $count } запросов — снял.
}
stop-paused = Карточки остались, их можно решить как обычно, но продолжать после них я ничего не буду.
stop-not-yours = Сейчас выполняется запрос, который прислал другой человек ({ $who }): остановить его может он сам или руководитель.
queued = В очереди, { $place }-й.
menu-history = Кто и что менял, например /history 481
start-deal = Покажи сделку { $number }
start-lead = Покажи лид { $number }
start-contact = Покажи контакт { $number }
start-company = Покажи компанию { $number }
start-task = Покажи задачу { $number }
duplicates-found = Уже есть с таким телефоном или почтой:
duplicate-taken = Взял то, что уже есть: { $label }. Новую запись не создаю
duplicate-elsewhere = Уже есть, ответственный — { $name }. Создать ещё одну запись?

# When something happened, within a sentence.
event-at-hour = в { $hour }
event-on-day = { $day } в { $hour }
