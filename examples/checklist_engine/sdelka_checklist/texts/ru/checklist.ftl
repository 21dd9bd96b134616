# Предложения списков дел.
menu-checklist = Пройти список дел
checklist-new-title = Новый список
checklist-new-point = Что нужно сделать?
checklist-done = Готово
checklist-left = Ещё нет
checklist-point = { $number }. { $text }
checklist-ended = { $count ->
    [0] «{ $name }» — всё сделано.
   *[other] «{ $name }»: осталось { $count }.
 }
console-definition-kind--checklist = Список дел
console-definition-kinds--checklist = Списки дел
console-runs-engine--checklist = Список дел
run-offers--checklist = Какой список пройти?
kind-of--checklist = списка дел
