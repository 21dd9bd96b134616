# Что показывается, пока ход идёт: по строке на шаг, словами кода, а не модели.
step-running = ⏳ { $words }
step-done = ✓ { $words }
step-waiting = ✋ { $words } — жду вашего решения
step-refused = ✖ { $words } — не получилось
step-unknown = ❓ { $words } — исход неизвестен
step-planned = 📝 { $words } — только в плане
step-earlier = { $count ->
    [one] ✓ ещё { $count } шаг до этого
    [few] ✓ ещё { $count } шага до этого
   *[other] ✓ ещё { $count } шагов до этого
}
answer-unshown = Ответ не удалось показать. Сделанное видно на карточках и в портале; можно спросить ещё раз. Код для администратора: { $id }.
button-stop = ⏹ Остановить
working = Работаю над запросом…

doing-get = открываю
doing-list = ищу
doing-add = создаю
doing-update = меняю
doing-delete = удаляю
doing-complete = завершаю
doing-batch = меняю сразу несколько записей
doing-other = выполняю
done-get = открыл
done-list = нашёл
done-add = создал
done-update = изменил
done-delete = удалил
done-complete = завершил
done-batch = изменил сразу несколько записей
done-other = выполнил

one-deal = сделку
one-lead = лид
one-contact = контакт
one-company = компанию
one-task = задачу
one-activity = дело
one-comment = комментарий
one-item = элемент
one-productrow = товар
one-checklistitem = пункт чек-листа
one-event = событие
one-user = сотрудника
one-other = запись
many-deal = сделки
many-lead = лиды
many-contact = контакты
many-company = компании
many-task = задачи
many-activity = дела
many-comment = комментарии
many-item = элементы
many-productrow = товары
many-checklistitem = пункты чек-листа
many-event = события
many-user = сотрудников
many-other = записи

button-list-file = 📎 Excel{ $of ->
    [1] {""}
   *[other] {" "}{ $number }
  }
list-gone = Этот список я уже не держу в памяти. Покажите его снова и нажмите Excel.
list-of-another = Список спрашивал другой человек. Спросите свой: в нём будут ваши записи.
list-unread = Список сейчас не читается или уже пуст. Попробуйте позже.
file-list = Список
file-text = Ответ
file-record = Запись
file-has-all = { $rows ->
    [one] Весь список: { $rows } строка
    [few] Весь список: { $rows } строки
   *[other] Весь список: { $rows } строк
}
file-has-part = В файле { $rows } из { $total }: остальные найдёт более узкий запрос
text-in-file = Ответ длинный, целиком он в файле ниже.
