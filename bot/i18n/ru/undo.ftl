# Undo and history.
button-undo = ↩ Отменить
# Under an answer that tells of several changes.
button-undo-of = ↩ Отменить: { $name }
button-undo-several = все изменения пакета ({ $count })
button-undo-ask = ↩ Попросить руководителя вернуть
undo-asked = Просьба вернуть отправлена: { $who }
undo-no-lead = Вернуть может только руководитель, который видит эту запись, а его нет. Попросите администратора
undo-request = ↩ { $who } просит вернуть, как было: { call-named }. Запись сейчас ведёт другой сотрудник
button-undo-return = ↩ Вернуть, как было
undo-returned = ↩ По вашей просьбе возвращено: «{ $what }» ({ $who })
undo-not-returned = ✖ Вернуть не согласились: «{ $what }» ({ $who })
card-undo = ↩ Вернуть, как было
card-undone = ↩ Отменено { $on } · { $who }
undo-shown = Проверьте карточку: что вернётся
undo-refused = Не отменено, причина в чате
undo-elsewhere = Это действие было не в этом чате: отмените его там, где оно выполнено
undo-not-yours = Отменить может { $who } или руководитель
undo-none = Это действие нельзя отменить через бота: верните в Битрикс24 вручную
undo-unsupported = Это действие нельзя отменить через бота: верните { $service ->
    [database] в базе данных
    [site] на сайте
    [files] в файле
    [telegram] в чате
   *[portal] в Битрикс24
  } вручную
undo-of-undo = Это уже отмена. Если изменение всё же нужно, попросите его снова
undo-not-done = Отменять нечего: действие не было выполнено
undo-partly = Выполнилось не всё, поэтому целиком отменить нельзя: верните в Битрикс24 вручную
undo-same-record = В этом наборе одну запись меняли несколько раз, поэтому отменить его нельзя
undo-late = Время вышло: отменить можно было до { $at }
undo-done = Уже отменено { $on }
undo-open = Карточка отмены уже ждёт решения
undo-running = Отмена уже выполняется
undo-unknown = Отмену уже отправляли, её исход неизвестен: проверьте запись
undo-too-often = Отмену этого действия слишком много раз отклоняли
undo-gone = Запись №{ $id } удалили: возвращать нечего
undo-nothing = Отменять нечего: значения тогда не изменились
undo-already-so = Всё уже стоит, как было до этого действия
undo-funnel = Перенос в другую воронку бот не отменяет: прежняя стадия не записана
undo-one-way = Битрикс24 не даёт вернуть: { gate-field }
undo-no-before = Неизвестно, что было раньше: { gate-field }
undo-not-writable = Битрикс24 не даёт записать прежнее значение: { gate-field }
undo-file-gone = Прежнего файла у бота больше нет, вернуть его нельзя
undo-sum = Сумма сделки была задана не по товарам: если вернуть товары, Битрикс24 пересчитает её. Верните в Битрикс24 вручную
undo-add-closed = Созданное можно убрать только удалением, а его правила компании не разрешают
undo-worked-on = Не отменено: с записью №{ $id } уже работали, при удалении это пропало бы. Уберите её в Битрикс24 вручную
undo-changed = Не отменено: с тех пор запись изменили. Сейчас { gate-field } — «{ $now }»{ $more ->
    [0] {""}
    [one] {" "}(и ещё { $more } поле изменилось)
    [few] {" "}(и ещё { $more } поля изменились)
   *[other] {" "}(и ещё { $more } полей изменились)
  }. { $known ->
    [yes] Последнее изменение: { $who }. Чужое не трогаю
   *[other] Чужое не трогаю
  }
undo-in-turn = Эту запись потом меняли ещё раз: сначала верните более позднее изменение
# Which of several changes stays, and why.
undo-not-taken = Не верну: { call-named }. { $why }
undo-more-not = { $count ->
    [one] И ещё { $count } изменение не вернуть
    [few] И ещё { $count } изменения не вернуть
   *[other] И ещё { $count } изменений не вернуть
  }
undo-further = { $count ->
    [one] Осталось ещё { $count } более раннее изменение: попросите снова, когда решите по этим
    [few] Осталось ещё { $count } более ранних изменения: попросите снова, когда решите по этим
   *[other] Осталось ещё { $count } более ранних изменений: попросите снова, когда решите по этим
  }
history-head = История: { history-kind }
history-kind = { $entity ->
    [deal] сделка
    [lead] лид
    [contact] контакт
    [company] компания
    [task] задача
    [activity] дело
    [comment] комментарий
    [item] элемент
   *[other] запись
  }
history-deleted = записи больше нет
history-unread = Журнал сейчас не читается, поэтому историю записи показать не могу. Попробуйте позже.
history-none = Через меня эту запись никто не менял.
history-call = { $status ->
    [succeeded] ✅
    [refused] ⚠️ не выполнено
    [denied] ✖ отклонено
    [expired] ⌛ никто не решил вовремя
    [requested] ⏳ ждёт решения
    [unknown] ❓ исход неизвестен
   *[other] ⏳ выполняется
  }
history-decided = { $status ->
    [denied] решение: { $who }
   *[other] подтверждено: { $who }
  }
history-via = { $via ->
    [button] кнопкой
    [typed] словом
    [cli] в терминале
    [console] в консоли
    [api] по HTTP
    [model] агент снял запрос
   *[other] { $via }
  }
history-self = лично
history-free = без карточки
history-undo = ↩ отмена
history-undone = ↩ отменено: { $when }
history-portal = в Битрикс24, не через меня
history-other = { $doing ->
    [none] действие в Битрикс24 ({ $method })
   *[other] { $doing }
  }
history-page = стр. { $page } из { $pages } · всего записей: { $total }
history-which = Какую запись показать? Например: /history 481 — сделка, /history Ромашка, /history задача 8017, «история компании 5».
history-turned = Страница { $page }
button-history-record = { $label }
button-history-older = Ещё ▸
button-history-newer = ◂ Новее
bulk-undo = ↩ Вернуть всё, как было
bulk-of = { $of ->
    [deal] { $count ->
        [one] сделки
       *[other] сделок
    }
    [lead] { $count ->
        [one] лида
       *[other] лидов
    }
    [contact] { $count ->
        [one] контакта
       *[other] контактов
    }
    [company] { $count ->
        [one] компании
       *[other] компаний
    }
    [task] { $count ->
        [one] задачи
       *[other] задач
    }
   *[other] { $count ->
        [one] записи
       *[other] записей
    }
}
bulk-did = { $verb ->
    [add] Создано
    [handover] Передано
    [undo] Возвращено
   *[other] Изменено
}
bulk-stopped = ⏹ Остановлено. { bulk-did }: { $made } из { $count } { bulk-of }
