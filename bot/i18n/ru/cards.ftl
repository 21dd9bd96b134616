card-batch = { $count ->
    [one] { $count } изменение
    [few] { $count } изменения
   *[other] { $count } изменений
  }
card-read-key = {" "}(команда { $key })
card-more = … и ещё { $count }
# Карточка, на которой всё не помещается.
card-cut = ✂️ Показано не всё: нажмите «Подробнее» и прочитайте остальное. После этого здесь появится кнопка «Выполнить».
card-cut-opened = ✂️ Остальное — в сообщениях выше.
card-group-before = { $value } ({ $count })
card-group-rest = ещё { $kinds } { $kinds ->
    [one] другое значение
    [few] других значения
   *[many] других значений
  } ({ $count })
details-why = Почему спрашиваю
details-asked = Просит { $who }
card-asked-by = Просит { $who } · ответ до { $until }, потом карточка закроется
# В списке открытых карточек.
pending-asked-by = Просит { $who } · ответ до { $until }
card-waits-for-lead = Ждёт руководителя ({ $who }) до { $until }, потом карточка закроется
card-risk = { $level ->
    [high] 🔴 Опасно.
    [mid] 🟠 Внимание.
   *[low] 🟡
  }
card-mode = { $mode ->
    [shadow] Теневой режим: в Битрикс24 ничего не отправляется
   *[canary] Осторожный режим: новое создаю с вашего согласия, существующее не меняю
  }
card-sum = На сумму { $sum }
card-took = {" "}за { $seconds } с
card-number = { $entity ->
    [deal] Сделка
    [lead] Лид
    [contact] Контакт
    [company] Компания
    [task] Задача
    [activity] Дело
    [todo] Дело
    [meeting] Встреча
    [phonecall] Звонок
    [plannedcall] Звонок
    [event] Событие
    [item] Элемент
    [invoice] Счёт
    [quote] Предложение
    [comment] Комментарий
   *[other] Запись
  } №{ $number }
card-undo-until = Отменить можно до { $until }
card-undo-ask-until = Вернуть может только руководитель, до { $until }
card-failed-one = ⚠️ { $what }: { $text }
card-moved = ↓ Эта карточка теперь ниже
card-file = Что изменится
card-file-caption = Полный список: что было и что станет
card-file-record = Запись
card-file-number = №
card-file-action = Действие
card-file-field = Поле
card-file-before = Было
card-file-after = Станет
cards-again = Меня какое-то время не было, и нажатия могли потеряться. { $count ->
    [one] Карточка, которая ждёт решения, — ниже: если вы уже нажимали, нажмите ещё раз.
   *[other] Карточки, которые ждут решения, — ниже: если вы уже нажимали, нажмите ещё раз.
  }
edit-which = Что изменить?
edit-new-value = Новое значение: { $field }
edit-now = Сейчас на карточке: { $value }
edit-how = { $kind ->
    [money] Ответьте на это сообщение, например: 150 000. Передумали — ответьте «не менять».
    [number] Ответьте на это сообщение числом. Передумали — ответьте «не менять».
    [date] Ответьте на это сообщение, например: пятница или 30 ноября. Передумали — ответьте «не менять».
    [datetime] Ответьте на это сообщение, например: завтра в 15:00. Передумали — ответьте «не менять».
    [user] Ответьте на это сообщение именем сотрудника. Передумали — ответьте «не менять».
    [flag] Ответьте на это сообщение: да или нет. Передумали — ответьте «не менять».
    [choice] Ответьте на это сообщение названием значения. Передумали — ответьте «не менять».
   *[other] Ответьте на это сообщение: запишу ваш текст как есть. Передумали — ответьте «не менять».
  }
edit-how-options = Нажмите нужное или ответьте на это сообщение словами.
edit-how-again = Ответьте на это сообщение ещё раз или нажмите «Не менять».
edit-placeholder = Новое значение: { $field }
edit-field = ✏ Меняем: { $field }. Ответьте на сообщение ниже
edit-done = ✏ Изменено: { $field }. Новая карточка ниже
edit-cancelled = Ничего не изменено, карточка по-прежнему ждёт решения
edit-over = Этот вопрос уже закрыт. Нажмите «Изменить» на карточке ещё раз
edit-same = Это значение и так стоит на карточке
edit-empty = Ответ пустой
edit-choose = Такого значения нет. Есть: { $known }
edit-yes-or-no = Не понял: нужно «да» или «нет»
edit-other-currency = Сумма на карточке в { currency-has }, а вы назвали её в { currency-named }. Напишите сумму в { currency-has }. Чтобы сменить и валюту, отклоните карточку и напишите новую просьбу: «смени валюту на { currency-to } и сумму на { $sum }»
edit-not-read-now = Битрикс24 сейчас не отвечает, не смог проверить значение. Ответьте ещё раз чуть позже
edit-not-here = Здесь нет значения, которое можно поменять одним ответом. Отклоните карточку и напишите, как нужно
edit-not-yours = Менять может только { $who }
toast-which-field = Выберите, что изменить
toast-new-value = Жду новое значение: { $field }
toast-new-card = Готово, новая карточка ниже
toast-asked-again = Запросил ещё раз: новая карточка ниже
card-running = ⏳ Выполняется · решение: { $who }
card-executed = ✅ Выполнено { $on }{ $took } · решение: { $who }
card-begun = ▶ Начато { $on } · решение: { $who }. Как идёт и чем кончилось — в сообщении ниже
card-denied-by = ✖ Отклонено { $on } · { $who }
card-withdrawn = ✖ Отозвано { $on } · { $who }
card-denied-why = Причина:
card-expired-at = ⌛ Срок истёк { $on }, ничего не выполнено
card-superseded-by = ↻ Заменено: пока карточка ждала, условия изменились. Новая ниже
card-superseded-why = ↻ Заменено. { $why }. Новая карточка ниже
card-superseded-edited = ↻ Заменено: вы изменили значение. Новая карточка ниже
card-refused = ⚠️ Не выполнено. { $text }
card-undo-refused = ⚠️ Не отменено. { $text }
card-undo-not-done = ⚠️ Не отменено: проверил в Битрикс24
card-not-done = ⚠️ Не выполнено: проверил { in-service }
card-elsewhere = ↪ Теперь решает { $who }, от вас ничего не нужно
card-unknown = ❓ Исход неизвестен: ответ { of-service } потерян. { $service ->
    [site] Дошло ли, видно только на самом сайте
    [telegram] Посмотрите в чате, дошло ли
   *[portal] Нажмите «Проверить»
  } — сам повторять не буду
card-sure = Это нельзя отменить. Точно выполнить?
card-sure-twice = Точно выполнить? Проверьте ещё раз, что написано выше.
card-partly = ⚠️ Выполнено не всё: { $failed } из { $count } не прошли ({ $at }, решение: { $who })
card-partly-known = { $unknown ->
    [0] ⚠️ Проверил: выполнено { $done } из { $count }, не выполнено { $failed }
   *[other] ❓ Исход части пакета неизвестен ({ $unknown } из { $count }): выполнено { $done }{ $failed ->
        [0] {""}
       *[other] , не выполнено { $failed }
      }. Проверьте записи с ❓ — сам повторять не буду
  }
card-decided = { $on } · решение: { $who }
card-unchanged = ⚠️ Битрикс24 ответил «да», но не изменил: { $fields }
changed-otherwise = ⚠️ Битрикс24 сразу поставил другое значение, сейчас: { $values }{ $left ->
    [yes] {". "}{ $rest }
   *[other] {""}
  }
not-changed = ⚠️ Битрикс24 ответил «да», но не изменил: { gate-field }{ $more ->
    [0] {""}
   *[other] {" "}и ещё { $more }
  }
button-approve = ✅ Выполнить
button-approve-danger = ⚠️ Да, выполнить
button-sure = ⚠️ Точно, выполнить
button-deny = ✖ Отклонить
button-details = Подробнее
button-check = 🔍 Проверить
button-add-to = ➕ Добавить к прежнему
button-edit = ✏ Изменить
button-withdraw = ✖ Отменить запрос
button-repeat = ↻ Повторить
button-ask-again = ↻ Запросить заново
button-copy = 📋 №{ $number }
button-leave = Не менять
toast-running = Принято, проверяю…
toast-denied = Отклонено
card-outdated = Карточка устарела: посмотрите /pending
card-in-topic = Тема этой карточки закрыта: здесь её можно только выполнить или отклонить. Откройте тему и пришлите там /pending
# Нажатие опоздало: карточка уже решена. На самой карточке стоит card-expired-at и её соседи.
card-already-approved = Уже одобрено: { $who }, { $at }
card-already-executed = Уже выполнено: { $who }, { $at }
card-already-denied = Уже отклонено: { $who }, { $at }
card-already-expired = Срок истёк { $on }. Попросите ещё раз
card-already-superseded = Эту карточку заменила новая
card-already-refused = Уже решено: { $on } { $by ->
    [portal] Битрикс24 отказал
   *[other] не выполнено, причина на карточке
  }
card-already-unknown = Уже отправлено { $on }, исход неизвестен
card-expired = Срок истёк { $on }. Попросите ещё раз
card-open-first = Сначала нажмите «Подробнее»: на карточке показано не всё
card-second-tap = Нажмите ещё раз: проверьте карточку и нажмите «Точно, выполнить»
card-denied = Отклонено: { $who }
may-not-approve = Вам нельзя подтверждать изменения
not-your-card = Решает { $who }
plan-not-yours = В плане ждут и шаги с чужими для вас записями. Весь план может решить только тот, кто видит их все
changed-meanwhile = Данные успели изменить — проверьте новые значения
changed-values = Пока карточка ждала: { $changes }
changed-field = { $field ->
    [OPPORTUNITY] сумма изменилась
    [CURRENCY_ID] валюта изменилась
    [PRICE] цена изменилась
    [TAX_VALUE] налог изменился
    [ASSIGNED_BY_ID] ответственный изменился
    [RESPONSIBLE_ID] исполнитель изменился
    [CREATED_BY] постановщик изменился
    [STAGE_ID] стадия изменилась
    [STATUS_ID] стадия изменилась
    [STATUS] состояние изменилось
    [CATEGORY_ID] воронка изменилась
    [DEADLINE] срок изменился
    [CLOSEDATE] дата завершения изменилась
    [BEGINDATE] дата начала изменилась
    [COMPANY_ID] компания изменилась
    [CONTACT_ID] контакт изменился
    [CONTACT_IDS] контакты изменились
    [COMPANY_IDS] компании изменились
    [ATTENDEES] участники изменились
    [ROWS] товары изменились
    [PHONE] телефоны изменились
    [EMAIL] почта изменилась
    [PROBABILITY] вероятность изменилась
   *[other] поле «{ $name }» изменилось
  }: { $before } → { $after }
changed-more = { $count ->
    [one] ещё { $count } поле
    [few] ещё { $count } поля
   *[other] ещё { $count } полей
  }
drawn-anew = Прежняя версия программы показала на карточке не всё — посмотрите, что будет отправлено
stricter-meanwhile = Пока карточка ждала, условия стали строже — проверьте ещё раз
denied-by-model = Запрос снят, ничего не отправлено
withdrawn = { $named ->
    [yes] Снято: { $calls }
   *[no] Снято, ничего не отправлено
}
portal-filter-ignored = Битрикс24 не учёл условие поиска ({ gate-field }): в ответе есть неподходящие записи, поэтому ни списка, ни итогов не показываю
portal-said-no = Битрикс24 ответил «нет» и ничего не изменил
portal-wait = Битрикс24 просит подождать до { $at }: ничего не отправлено. Повторите просьбу после этого
portal-no-access = Битрикс24 не принимает ключ бота, это не выполнено. Скажите администратору
portal-no-scope = У ключа бота нет права «{ $scope }», это не выполнено. Скажите администратору
portal-not-reached = Не удалось связаться с Битрикс24: ничего не отправлено. Попробуйте ещё раз чуть позже
portal-refused = Битрикс24 отказал: { $text }
portal-error-access = у бота или у вас нет доступа к этому
portal-error-key = он не принимает ключ бота. Скажите администратору
portal-error-scope = у ключа бота нет на это права. Скажите администратору
portal-error-missing = такой записи нет, или её удалили
portal-error-method = такого действия в вашем Битрикс24 нет
portal-error-value = ему не подошло одно из значений
portal-error-required = не заполнено обязательное поле
portal-error-busy = слишком много запросов, попробуйте чуть позже
portal-error-fault = у него внутренняя ошибка, попробуйте чуть позже
portal-error-tariff = на вашем тарифе Битрикс24 не пускает к себе программы. Скажите администратору: нужен другой тариф
portal-error-unpaid = портал не оплачен. Скажите администратору
portal-error-blocked = он закрыл портал для программ из-за перегрузки, повторять бесполезно. Скажите администратору: откроет только поддержка Битрикс24
portal-error-deleted = этот портал удалён. Скажите администратору
portal-error-field = не заполнено обязательное поле «{ $field }»
portal-error-declined = он ничего не изменил
portal-error-said = { $said }
portal-error-other = { $acted ->
    [yes] «{ $act }» не прошло
   *[no] это не прошло
  }{ $reference ->
    [none] {""}
   *[other] . Код для администратора: { $reference }
  }
batch-failed = { $count ->
    [one] Единственная команда не прошла
    [few] Ни одна из { $count } команд не прошла
   *[other] Ни одна из { $count } команд не прошла
}
card-all-failed = ⚠️ Не выполнено: { batch-failed }
list-cut = Битрикс24 перестал отвечать посреди списка: прочитано { $read }{ $total ->
    [0] {""}
   *[other] {" "}из { $total }
  }. Часть списка за целый не выдаю и ничего по ней не считаю – попробуйте ещё раз чуть позже
portal-unread = Ответ Битрикс24 не разобрать: вместо данных пришла страница или обрывок. Попробуйте чуть позже; если повторится, скажите администратору
portal-no-answer = Битрикс24 не ответил. Попробуйте ещё раз чуть позже
portal-unreadable = Битрикс24 не показал запись, поэтому ничего не отправлено{ $code ->
    [none] {""}
    [tariff] {""}: { portal-error-tariff }
    [unpaid] {""}: { portal-error-unpaid }
    [blocked] {""}: { portal-error-blocked }
    [deleted] {""}: { portal-error-deleted }
    [page] {""}: его ответ не разобрать, вместо данных пришла страница или обрывок. Попробуйте чуть позже
    [away] {""}: он сейчас не отвечает. Попробуйте позже
   *[other] {""}
  }
# Кто отвечает: «ответ базы данных потерян», «проверил в Битрикс24».
of-service = { $service ->
    [database] базы данных
    [site] сайта
    [telegram] Telegram
    [files] диска с файлами
    [own] моей базы
   *[portal] Битрикс24
  }
in-service = { $service ->
    [database] в базе данных
    [site] на сайте
    [telegram] в Telegram
    [files] в папке файлов
    [own] в моих напоминаниях
   *[portal] в Битрикс24
  }
to-look-at = { $service ->
    [site] проверьте на самом сайте, дошло ли
    [telegram] проверьте в чате, дошло ли
    [files] проверьте файл
   *[portal] проверьте запись
  }
outcome-unknown = Исход неизвестен: { call-named }. Ответ { of-service } потерян — { to-look-at }, сам повторять не буду.
reason-fields = Меняются: { $fields }
reason-more = { $text } и ещё { $count }
four-eyes = Такую сумму подтверждает руководитель, не тот, кто просит ({ $who })
requester-gone = У того, кто просил, больше нет доступа
approver-gone = У того, кто подтвердил, больше нет доступа
no-access-any-more = У вас больше нет доступа. Обратитесь к администратору.
same-call-unknown = Такой же вызов уже отправлен, и его исход неизвестен: может получиться дважды
recovered-done = Проверил: { call-named } — { in-service } выполнено, хотя ответ и не пришёл.
recovered-not-done = Проверил: { call-named } — { in-service } не выполнено. Если изменение нужно, повторите запрос.
recovered-partly = Проверил: { call-named } — в Битрикс24 выполнено { $done } из { $commands }{ $unknown ->
    [0] {""}
   *[other] , неизвестно { $unknown }
  }. Сам повторять не буду.
recovered-unclear = Ответ не пришёл, исход пока неизвестен: { call-named }. Посмотрите { in-service }, сам повторять не буду.
# Что сделано без карточки: «Создана сделка «Ромашка» №484 — Ответственный: вы».
made-more = { $count ->
    [one] и ещё { $count } изменение
    [few] и ещё { $count } изменения
   *[other] и ещё { $count } изменений
}
repeats-not-sent = { $count ->
    [one] Ещё { $count } раз предложено то же самое — повторно не отправлено, это уже сделано
    [few] Ещё { $count } раза предложено то же самое — повторно не отправлено, это уже сделано
   *[other] Ещё { $count } раз предложено то же самое — повторно не отправлено, это уже сделано
}
step-repeated = То же самое уже сделано по этому запросу, поэтому ещё раз не отправлено
step-partly-repeated = Часть этих изменений уже сделана по этому запросу, поэтому ничего не отправлено второй раз
made-new = { $entity ->
    [deal] Создана сделка
    [lead] Создан лид
    [contact] Создан контакт
    [company] Создана компания
    [item] Создан элемент
    [task] Создана задача
    [activity] Создано дело
    [meeting] Создана встреча
    [phonecall] Записан звонок
    [plannedcall] Запланирован звонок
    [email] Отправлено письмо
    [emailrecord] Добавлено письмо в карточку
    [todo] Создано дело
    [event] Создано событие в календаре
    [comment] Добавлен комментарий{ $target ->
        [deal] {" "}к сделке
        [lead] {" "}к лиду
        [contact] {" "}к контакту
        [company] {" "}к компании
        [task] {" "}к задаче
       *[other] {""}
    }
    [checklistitem] Добавлен пункт чек-листа{ $target ->
        [task] {" "}задачи
       *[other] {""}
    }
    [message] Отправлено сообщение
   *[other] Выполнено: { call-named }
}
made-place = { $place ->
    [deal] {" "}к сделке { $place_title }
    [lead] {" "}к лиду { $place_title }
    [contact] {" "}к контакту { $place_title }
    [company] {" "}к компании { $place_title }
    [task] {" "}к задаче { $place_title }
    [record] {" "}к записи { $place_title }
   *[none] {""}
}
# $values: «Крайний срок: пн, 23 ноября, 15:00; Исполнитель: вы».
made = { $verb ->
    [add] { made-new }
   *[other] Выполнено: { call-named }
}{ $named ->
    [yes] {" "}{ $name }
   *[no] {""}
}{ made-place }{ $valued ->
    [yes] {" "}— { $values }
   *[no] {""}
}
# Команда пакета, которая не выполнена.
made-not = ⚠️ { $state ->
    [unknown] Исход неизвестен
   *[other] Не выполнено
}: { call-named }{ $named ->
    [yes] {" "}{ $name }
   *[no] {""}
}{ $state ->
    [error] {" "}— { $error }
    [not_run] {" "}— до этого не дошло
   *[other] {""}
}
made-unshown = Выполнено: { call-named }
# Как назвать вызов внутри фразы: «изменение сделки «Ромашка» (Сумма: 1 ₽ → 2 ₽)».
call-of = { $entity ->
    [activity] дела
    [category] воронки
    [chat] чата
    [checklistitem] пункта чек-листа
    [comment] комментария
    [company] компании
    [contact] контакта
    [deal] сделки
    [event] события в календаре
    [item] элемента
    [lead] лида
    [message] сообщения
    [productrow] товаров
    [status] стадии
    [task] задачи
    [user] сотрудника
    [meeting] встречи
    [phonecall] записи о звонке
    [plannedcall] звонка
    [email] письма
    [emailrecord] письма в карточке
   *[other] записи ({ $method })
  }
call-many = { $entity ->
    [activity] дел
    [comment] комментариев
    [company] компаний
    [contact] контактов
    [deal] сделок
    [item] элементов
    [lead] лидов
    [productrow] товаров
    [task] задач
    [user] сотрудников
   *[other] записей
  }
call-verb = { $verb ->
    [get] чтение { call-of }
    [list] поиск { call-many }
    [add] создание { call-of }
    [update] изменение { call-of }
    [delete] удаление { call-of }
    [set] замена состава { call-of }
    [start] начало { call-of }
    [pause] приостановка { call-of }
    [defer] откладывание { call-of }
    [complete] завершение { call-of }
    [renew] возобновление { call-of }
    [approve] приёмка { call-of }
    [disapprove] возврат на доработку { call-of }
    [attach] файл для { call-of }
    [move] перенос { call-of }
    [notify] уведомление сотруднику
    [bind] подписка на события портала
    [unbind] отписка от событий портала
    [batch] пакет команд ({ $count })
   *[other] { $doing ->
        [none] действие в Битрикс24
       *[other] { $doing }
    }
  }
call-named = { $acted ->
    [yes] { $act }
   *[no] { call-verb }
  }{ $parts ->
    [title] {" "}{ $titled }
    [changes] {" "}({ $changes })
    [both] {" "}{ $titled } ({ $changes })
   *[none] {""}
  }
card-waits-already = Карточка на это уже ждёт решения: найдите её выше или пришлите /pending
card-not-waiting = Этот шаг уже не ждёт решения
after-unknown = Предыдущий шаг неизвестно чем кончился: проверьте, что это всё ещё нужно
same-wish-waits = Об этом же уже просит { $who }: та карточка тоже ждёт, не выполните дважды
plan-head = План: { $count } { $count ->
    [one] действие
    [few] действия
   *[other] действий
}
plan-over = Выполнено { $done } из { $count }{ $approved ->
    [yes] {" · "}решение: { $who }
   *[no] {""}
}
plan-hidden = Ещё { $count } { $count ->
    [one] шаг
    [few] шага
   *[other] шагов
} — не ваши записи, здесь не показаны{ $waits ->
    [yes] {". "}Поэтому решить весь план может только тот, кто видит все его записи
   *[no] {""}
}
plan-step-denied = отклонено: { $who }{ $reasoned ->
    [yes] {"."} Причина: { $reason }
   *[no] {""}
}
plan-step-unknown = неизвестно, выполнено ли: проверьте
plan-step-left-out = убрано из плана
plan-step-expired = время вышло, не выполнено
plan-step-closed = больше не ждёт решения, не выполнено
button-approve-all = ✅ Выполнить всё ({ $count })
button-deny-all = ✖ Отклонить всё
button-leave-out = ✖ Убрать { $number }
button-leave-out-short = ✖ { $number }
button-add-to-step = ➕ Добавить к прежнему { $number }
button-edit-step = ✏ Изменить { $number }
button-edit-step-short = ✏ { $number }
button-undo-step = ↩ Отменить { $number }
button-check-step = 🔄 Проверить { $number }
card-then = Затем:
card-would-propose = Предложу:
button-again-step = ↻ Запросить { $number }

## Изменение многих записей
card-bulk-some = Например:
card-bulk-all = Записи:
card-bulk-file = Все записи — в файле рядом.
card-bulk-cut = Показаны не все записи. Сначала откройте файл кнопкой ниже, потом можно выполнить.
