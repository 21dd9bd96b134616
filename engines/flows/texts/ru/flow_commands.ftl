# Команды sdelka flow и sdelka workflow: что они говорят автору в терминале.
flow-cli-good = Ошибок нет.
flow-cli-good-two = Ошибок нет. Публикует второй сотрудник, не автор: { $methods }.
flow-cli-mistakes = { $count ->
    [one] { $count } ошибка.
    [few] { $count } ошибки.
   *[many] { $count } ошибок.
}
flow-cli-severity = { $severity ->
    [error] ошибка
    [warning] внимание
   *[other] к сведению
}
flow-cli-column = { $column ->
    [line] строка
    [severity] важность
    [where] где
    [what] что
   *[other] может быть
}
flow-cli-not-looked-up = { $kind ->
    [tuum] Есть ли { $count ->
        [one] часть
       *[other] части
    }
   *[agent] Есть ли { $count ->
        [one] агент
       *[other] агенты
    }
} { $agents }, не проверено: рядом нет { $count ->
    [one] такого файла
   *[other] таких файлов
}, и нет базы данных.
flow-cli-refused = Отказано: сначала исправьте ошибки. Ничего не сохранено.
flow-cli-published = { $kind ->
    [agent] Агент { $key }: опубликована версия { $number }.
    [tuum] Часть { $key }: опубликована версия { $number }.
    [workflow] Процесс { $key }: опубликована версия { $number }. Новые запуски идут по ней, начатые — по прежней. Запустить: /workflow { $key }
   *[other] Поток { $key }: опубликована версия { $number }. Новые запуски идут по ней, начатые — по прежней. Запустить: /flow { $key }
}
flow-cli-unchanged = { $kind ->
    [tuum] Часть
   *[agent] Агент
} { $key }: опубликованная версия { $number } такая же, новая не нужна.
flow-cli-waits = Не опубликовано: дождитесь второго сотрудника и повторите эту команду.
flow-cli-draft = { $kind ->
    [agent] Агент
    [tuum] Часть
    [workflow] Процесс
   *[other] Поток
} { $key }: версия { $number } сохранена черновиком. Она может удалять, двигать деньги или писать наружу ({ $methods }), поэтому её публикует сотрудник, который её не писал, а не эта команда.
flow-cli-diff-none = Ничего не изменилось.
flow-cli-diff-kind = { $kind ->
    [added] добавлено
    [removed] убрано
   *[other] изменено
}
flow-cli-diff-version = версия { $number }
flow-cli-diff-more = { $count ->
    [one] Показано только первое отличие.
   *[other] Показаны только первые отличия: { $count }.
}
flow-cli-drawn = { $file }: { $count ->
    [one] { $count } фигура.
    [few] { $count } фигуры.
   *[many] { $count } фигур.
}
flow-cli-may-lack = (можно пропустить: пустая строка)
flow-cli-default = (пустая строка — { $value })
flow-cli-empty = пустой ответ, он не считается
flow-cli-no-answer = ответа нет ({ $why })
flow-cli-planned = план, ничего не отправлено: { $method }
flow-cli-unfinished = Не доиграно: { $why }.
flow-cli-ended = { $outcome ->
    [done] готово
    [failed] не получилось
   *[other] прервано
}
