## Заголовки таблиц командной строки; поле, которого здесь нет, называется как в API.
cli-head = { $field ->
    [field] поле
    [value] значение
    [what] что
    [message] что вышло
    [active] действует
    [active_version] действующая версия
    [after] стало
    [args] значения
    [asked_by] кто просит
    [asked_at] когда попросили
    [at] когда
    [before] было
    [by] кто
    [changes] изменения
    [code] код
    [created_at] создано
    [cron] строка cron
    [decided] решение
    [decision] решение
    [definition] определение
    [detail] подробности
    [enabled] включено
    [engine] движок
    [expires_at] действует до
    [frozen] заморожено
    [has_draft] есть черновик
    [home] где видно
    [id] номер
    [key] ключ
    [kind] вид
    [last_error] последняя ошибка
    [last_run] последний запуск
    [last_run_at] когда был
    [last_version] последняя версия
    [limit] предел
    [may_approve] можно подтвердить
    [may_control] можно управлять
    [may_deny] можно отклонить
    [method] метод
    [missed] пропущено
    [mode] режим
    [month] месяц
    [name] имя
    [next] следующий
    [node] узел
    [nodes_done] узлов пройдено
    [note] заметка
    [outcome] исход
    [owner] за кого
    [parent] кем запущен
    [path] место
    [person] кто
    [published_by] опубликовал
    [reason] причина
    [reasons] причины
    [record] запись
    [records] записи
    [result] результат
    [revision] правка
    [session] беседа
    [since] с
    [skip_why] почему пропускает
    [skipped] подряд пропущено
    [started] запущено
    [started_at] начало
    [state] состояние
    [status] состояние
    [text] текст
    [then] потом
    [title] название
    [tokens] токенов
    [type] что
    [until] до
    [updated_at] изменено
    [updated_by] кем изменено
    [version] версия
    [versions] версии
    [waits] чего ждёт
    [waits_for] ждёт
    [when] когда
    [why] почему
    [writers] кто писал
    [zone] пояс
   *[other] { $name }
}
cli-yes = да
cli-no = нет
cli-none = Ничего нет.
