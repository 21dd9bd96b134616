# Команды авторов (sdelka author, sdelka flow …): что они говорят в терминале.
author-good = Ошибок нет.
author-good-two = Ошибок нет. Публикует второй сотрудник, не автор: { $methods }.
author-mistakes = { $count ->
    [one] { $count } ошибка.
    [few] { $count } ошибки.
   *[many] { $count } ошибок.
}
author-severity = { $severity ->
    [error] ошибка
    [warning] внимание
   *[other] к сведению
}
author-column = { $column ->
    [line] строка
    [severity] важность
    [where] где
    [what] что
   *[other] может быть
}
author-not-looked-up = { $kind ->
    [tuum] Есть ли { $count ->
        [one] часть
       *[other] части
    }
    [agent] Есть ли { $count ->
        [one] агент
       *[other] агенты
    }
   *[other] Есть ли { $kind }
} { $agents }, не проверено: рядом нет { $count ->
    [one] такого файла
   *[other] таких файлов
}, и нет базы данных.
author-refused = Отказано: сначала исправьте ошибки. Ничего не сохранено.
author-published = { $kind ->
    [agent] Агент { $key }: опубликована версия { $number }.
    [tuum] Часть { $key }: опубликована версия { $number }.
    [workflow] Процесс { $key }: опубликована версия { $number }. Новые запуски идут по ней, начатые — по прежней. Запустить: /workflow { $key }
    [flow] Поток { $key }: опубликована версия { $number }. Новые запуски идут по ней, начатые — по прежней. Запустить: /flow { $key }
   *[other] { $kind } { $key }: опубликована версия { $number }. Новые запуски идут по ней, начатые — по прежней.
}
author-unchanged = { $kind ->
    [tuum] Часть
    [agent] Агент
   *[other] { $kind }
} { $key }: опубликованная версия { $number } такая же, новая не нужна.
author-waits = Не опубликовано: дождитесь второго сотрудника и повторите эту команду.
author-draft = { $kind ->
    [agent] Агент
    [tuum] Часть
    [workflow] Процесс
    [flow] Поток
   *[other] { $kind }
} { $key }: версия { $number } сохранена черновиком. Она может удалять, двигать деньги или писать наружу ({ $methods }), поэтому её публикует сотрудник, который её не писал, а не эта команда.
author-diff-none = Ничего не изменилось.
author-diff-text = Изменились только комментарии и вид текста.
author-diff-kind = { $kind ->
    [added] добавлено
    [removed] убрано
   *[other] изменено
}
author-diff-version = версия { $number }
author-diff-more = { $count ->
    [one] Показано только первое отличие.
   *[other] Показаны только первые отличия: { $count }.
}
author-drawn = { $file }: { $count ->
    [one] { $count } фигура.
    [few] { $count } фигуры.
   *[many] { $count } фигур.
}
author-may-lack = (можно пропустить: пустая строка)
author-default = (пустая строка — { $value })
author-empty = пустой ответ, он не считается
author-no-answer = ответа нет ({ $why })
author-planned = план, ничего не отправлено: { $method }
author-unfinished = Не доиграно: { $why }.
author-ended = { $outcome ->
    [done] готово
    [failed] не получилось
   *[other] прервано
}
