# The search of the audit in the console, and the page that tells why a call was made.
console-audit = Аудит
console-why = Почему так
console-audit-person = Человек
console-audit-record = Запись: название, номер или ссылка
console-audit-method = Действие: «изменить сделку» или код
console-audit-how = Чем кончилось
console-audit-from = С дня
console-audit-to = По день
console-audit-find = Найти
console-audit-reset = Сбросить
console-audit-save = Сохранить показанное:
console-audit-more = Показать ещё
console-audit-none = Ничего не нашлось.
console-audit-none-yet = Пока ничего не нашлось, но просмотрена только часть журнала.
console-audit-problem = { $about ->
    [record] Не понял, какая это запись. Напишите часть названия, номер сделки, вид записи с номером («контакт 43») или вставьте ссылку на карточку в Битрикс24.
   *[method] Нет действия с такими словами. Напишите, например, «изменить сделку» или код crm.deal.update.
  }
console-audit-titled = Вызовы о записях, которые тогда назывались «{ $words }» или похоже
console-audit-actions = Подходящие действия: { $named }{ $count ->
    [0] {""}
   *[other] {" "}и ещё { $count }
  }
console-audit-outcome = { $outcome ->
    [waiting] ждёт решения
    [requested] ждёт решения
    [approved] одобрено
    [denied] отклонено
    [expired] никто не решил
    [superseded] устарело
    [started] выполняется
    [succeeded] выполнено
    [refused] не выполнено
    [unknown] исход неизвестен
   *[other] только план
  }
console-audit-decision = { $decision ->
    [approved] Одобрено
    [denied] Отклонено
    [expired] Никто не решил вовремя
   *[superseded] Карточка закрыта, она больше не подходит
  }
console-audit-column = { $column ->
    [at] Время (UTC)
    [person] Кто попросил
    [what] Что
    [method] Метод
    [records] Записи
    [changes] Изменения
    [outcome] Исход
    [decision] Решение
    [decided_by] Кто решил
    [via] Как
    [run] Запуск
   *[id] Номер вызова
  }
console-audit-damaged = Журнал не такой, каким его записали: { $count ->
    [one] { $count } нарушение
    [few] { $count } нарушения
   *[other] { $count } нарушений
  } (проверено { $checked }). Администратору: остановите запись и запустите sdelka journal verify.
console-audit-health = { $state ->
    [whole] Журнал проверен { $checked } и цел: { $records ->
        [one] { $records } запись
        [few] { $records } записи
       *[other] { $records } записей
      }.
    [cannot] Проверить журнал отсюда нельзя.
   *[running] Журнал проверяется…
  }
console-why-record = все вызовы этой записи
console-why-erased = Часть данных удалена по просьбе человека.
console-why-unreadable = Часть записей журнала не читается: администратору нужно запустить sdelka journal verify.
console-why-part = { $part ->
    [asked] Кто попросил
    [proposed] Что предложила модель
    [judged] Что решили правила
    [decided] Кто подтвердил
    [sent] Что отправлено
    [answered] Что ответили
    [doubt] Исход был неизвестен
   *[later] Что было потом с этими полями
  }
console-why-column = { $column ->
    [field] Поле
    [before] Было
   *[after] Стало
  }
console-why-nobody = В журнале не записано, кто попросил.
console-why-run = Запуск «{ $name }»
console-why-private = Слова разговора видят только сам человек и администратор.
console-why-foreign = В сообщении был и чужой текст: пересланный или вставленный.
console-why-talk = Весь разговор
console-why-verdict = { $decision ->
    [refused] Не пропущено, ничего не отправлено
    [asked] Спросить человека
    [allowed] Разрешено без вопросов
    [withdrawn] Модель отказалась от этого сама
   *[planned] Только записано: в этом режиме ничего не отправляется
  }
console-why-waits = Карточка ждёт решения.
console-why-attempt = { $time }, { $name }: не засчитано
console-why-waited = Ждали { $waited }
console-why-superseded = После одобрения не выполнено: { $reason }
console-why-not-sent = Ничего не отправлено.
console-why-read = Чтение: в Битрикс24 ничего не меняли.
console-why-command = { $status ->
    [success] выполнено
    [error] ошибка
    [not_run] не выполнялось
   *[unknown] исход неизвестен
  }
console-why-nothing-later = Этих полей с тех пор никто не менял.
console-why-undo = отмена этого вызова
console-why-id = Номер вызова: { $number }
