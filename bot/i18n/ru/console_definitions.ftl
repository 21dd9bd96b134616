# Страницы определений в консоли: сценарии, агенты, потоки, процессы и их части.
console-definitions = Определения
console-definition = Определение
console-definition-edit = Редактор
console-definition-new = Новое определение
console-definitions-search = Название или ключ
console-definitions-kind = Вид
console-definitions-all = Все виды
console-definitions-states = Состояние
console-definitions-state = { $state ->
    [published] Опубликовано
    [draft] Есть черновик
    [off] Выключено
   *[all] Любое
}
console-definitions-new = Создать
console-templates = С какого примера начать
console-templates-open = Из примера…
console-definitions-none = Ничего не нашлось.
console-definitions-absent = Есть и определения, программы для которых не установлены: { $kinds }. Они сохранены и вернутся вместе с программами.
console-definitions-not-yours = Определения пишут руководители и администраторы; вам их править не поручено.
console-definitions-more = И ещё { $count }: уточните поиск.
console-definitions-back = ← Все определения
console-definition-kind = { $kind }
console-definition-kinds = { $kind }
console-definition-off = Выключено
console-definition-active = В работе версия { $number }
console-definition-unpublished = Не опубликовано
console-definition-draft = Черновик { $number }
console-definition-number = Версия { $number }
console-definition-in-force = В работе
console-definition-is-draft = Черновик
console-definition-was-published = Была опубликована
console-definition-account = { $door ->
    [http] программа { $who }
   *[cli] терминал, { $who }
}
console-definition-written = Текст: { $who }, { $moment }
console-definition-published-by = Опубликовал(а): { $who }, { $moment }
console-definition-versions = Версии
console-definition-text = Текст версии { $number }
console-definition-open = Показать
console-definition-compare = Сравнить с версией { $other }
console-definition-roll-back = Сделать черновик из неё
console-definition-back-in-force = Вернуть в работу…
console-definition-rolled-back = Возвращён текст версии { $number }
console-definition-draft-made = Сделан черновик: версия { $number }.
console-definition-history = Что с ним делали
console-definition-did = { $what ->
    [created] создана версия { $number }
    [saved] сохранена версия { $number }
    [published] опубликована версия { $number }
    [deactivated] версия { $number } больше не в работе
    [switched_off] выключено
    [switched_on] включено
    [rolled_back] возвращён прежний текст, версия { $number }
   *[imported] загружена из файла версия { $number }
}
console-definition-edit-asked = Править
console-definition-switch-off = Выключить
console-definition-switch-on = Включить
console-definition-switch-off-asked = Выключить? Новые запуски будут отклонены, начатые дойдут до конца.
console-definition-switch-on-asked = Включить? Новые запуски снова будут разрешены.
console-definition-note = Что изменилось и почему
console-definition-publish = Опубликовать
console-definition-publish-asked = Опубликовать…
console-definition-publish-title = Публикация версии { $number }
console-definition-is-published = Версия { $number } опубликована: новые запуски идут по ней.
console-definition-start-now = Запустить и посмотреть, как оно работает?
console-definition-start-later = Не сейчас
console-definition-publish-stale = Пока вы смотрели, { $who } изменил(а) эту версию. Ничего не опубликовано. Ниже — что изменилось; проверьте и решите ещё раз.
console-definition-publish-other = Пока вы смотрели, в работу вошла версия { $number }. Ничего не опубликовано. Ниже — что изменит ваша публикация теперь; проверьте и решите ещё раз.
console-definition-verdict-good = Ошибок нет
console-definition-verdict-two = Нужен второй сотрудник
console-definition-verdict-wrong = Публиковать нельзя: есть ошибки
console-definition-two = Она может удалять, двигать деньги или писать наружу ({ $methods }), поэтому её публикует сотрудник, который её не писал.
console-definition-two-unknown = Нельзя сказать заранее, что она запишет, поэтому её публикует сотрудник, который её не писал.
console-definition-not-allowed = { $code ->
    [needs_two_people] Не опубликовано: вы писали этот текст, а он может удалять, двигать деньги или писать наружу. Попросите опубликовать другого сотрудника.
    [needs_a_person] Не опубликовано: этот текст может удалять, двигать деньги или писать наружу, и публикует его только сотрудник портала.
   *[other] Это вам не поручено. Попросите руководителя или администратора.
}
console-definition-mistakes = { $count ->
    [one] Не сохранено: в определении { $count } ошибка.
    [few] Не сохранено: в определении { $count } ошибки.
   *[many] Не сохранено: в определении { $count } ошибок.
}
console-definition-stale = Кто-то успел раньше: посмотрите, что изменилось, и повторите.
console-definition-published-already = Версия { $number } уже опубликована, её текст не меняется. Сохраните ещё раз: будет новая версия.
console-definition-unstorable = Это нельзя сохранить: документ слишком большой или слишком глубокий.
console-definition-damaged = Сохранённый текст повреждён. Сообщите администратору.
console-definition-busy = Сейчас определения меняет кто-то другой. Попробуйте ещё раз.
console-finding-meant = Может быть: { $meant }
console-finding-go = Строка { $line }, столбец { $column }: показать в тексте
console-definition-only-comments = Изменились только комментарии и вид текста: запуски пойдут так же, как сейчас.
console-diff-none = Отличий нет.
console-diff-nothing = Ничего не опубликовано
console-diff-seen = Что вы видели
console-diff-now = Что там теперь
console-diff-title = Отличия версии { $after } от версии { $before }
console-diff-name = Отличия: { $before } и { $after }
console-diff-count = Строк добавлено: { $added }, убрано: { $removed }
console-diff-more = И ещё строк: { $count }.
console-close = Закрыть
console-definition-all-versions = Показать все версии
console-findings-more = И ещё замечаний: { $count }. Исправьте сначала эти.
console-definition-graph = Схема версии { $number }
