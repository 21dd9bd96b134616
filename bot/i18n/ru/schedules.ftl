# Расписания: что и когда запускается само. Слова для менеджера по продажам.
menu-schedules = Что запускается по расписанию
schedule-word = { $text }
schedule-comma = { $first }, { $then }
schedule-and = { $first } и { $then }
schedule-once = один раз, { $moment }
schedule-listed = ближайшие запуски: { $moments }
schedule-in-zone = { $when } (по времени { $zone })
schedule-daily = каждый день в { $times }
schedule-workdays = по будням в { $times }
schedule-weekly = по { $days } в { $times }
schedule-weekday = { $day ->
    [1] понедельникам
    [2] вторникам
    [3] средам
    [4] четвергам
    [5] пятницам
    [6] субботам
   *[7] воскресеньям
}
schedule-monthly = { $days } числа каждого месяца в { $times }{ $rare ->
    [yes] {" "}(если такое число в месяце есть)
   *[no] {""}
}
schedule-monthday = { $day }-го
schedule-month-end = в последний день месяца в { $times }
schedule-each-minutes = каждые { $count ->
    [one] { $count } минуту
    [few] { $count } минуты
   *[other] { $count } минут
}
schedule-each-hours = { $count ->
    [1] каждый час
   *[other] каждые { $count } { $count ->
        [one] час
        [few] часа
       *[other] часов
    }
}{ $minute ->
    [0] {""}
   *[other] , на { $minute }-й минуте
}
schedules-listed = { $count ->
    [0] По расписанию ничего не запускается.
   *[other] По расписанию запускается:
}
schedules-more = …и ещё { $count }.
schedule-line = • «{ $definition }»{ $id ->
    [none] {""}
   *[other] {" "}· { $id }
}{ $note ->
    [none] {""}
   *[other] {" "}— { $note }
}{ $who ->
    [none] {""}
   *[other] {" "}({ $who })
}: { $when }{ $what }{ $missed ->
    [0] {""}
   *[other] . Пропущено запусков: { $missed }
}
schedule-next = . Следующий запуск: { $moment }
schedule-next-after-skip = . В последний раз не запущен: { $why }. Следующая попытка: { $moment }
schedule-paused = . На паузе
schedule-paused-because = . На паузе: { $why }
schedule-why-unfinished = прошлый запуск ещё не закончился
schedule-why-definition = этого больше нет или оно выключено
schedule-why-engine = такое здесь больше не выполняется
schedule-why-failed = запустить не удалось из-за ошибки
schedule-why-restored = бота восстановили из резервной копии
schedule-why-owner = у того, чьи это запуски, больше нет доступа к боту
schedule-why-role = тому, чьи это запуски, это больше не разрешено
schedule-added = { $moment ->
    [none] 🗓 Запуск «{ $definition }»: { $when }.
   *[other] 🗓 Запуски «{ $definition }» по расписанию: { $when }. Первый: { $moment }.
}
schedule-late = ⏰ «{ $definition }» нужно было запустить: { $moment }. Бот тогда не работал, поэтому запускаю сейчас.{ $missed ->
    [0] {""}
    [one] {" "}За это время пропущен ещё { $missed } запуск.
    [few] {" "}За это время пропущено ещё { $missed } запуска.
   *[other] {" "}За это время пропущено { $many ->
        [yes] не меньше
       *[no] ещё
    } { $missed } запусков.
}
schedule-late-resumed = ⏰ «{ $definition }» нужно было запустить: { $moment }. Расписание тогда было на паузе, поэтому запускаю сейчас.
schedule-skipped = ⚠️ Запуск «{ $definition }» по расписанию не начат ({ $moment }): { $why }.{ $next ->
    [none] {""}
   *[other] {" "}Следующая попытка: { $next }.
}
schedule-was-paused = ⏸ Запуски «{ $definition }»{ $who ->
    [none] {""}
   *[other] {" "}({ $who })
} по расписанию остановлены: { $why }. Отменить или продолжить их можно в /schedules.
schedule-person-paused = ⏸ Запуски «{ $definition }» по расписанию на паузе: так решил(а) { $who }.
schedule-was-resumed = { $moment ->
    [none] ▶ Запуск «{ $definition }» снова в расписании: { $when }.
   *[other] ▶ Запуски «{ $definition }» снова идут по расписанию: { $when }. Следующий: { $moment }.
}
schedule-was-cancelled = ✖ Запусков «{ $definition }» по расписанию больше не будет. Отменил(а) { $who }.
schedules-restored = ⏸ Бота восстановили из резервной копии от { $at }. Запуски по расписанию на паузе: после этой копии они уже могли состояться, а расписание — измениться. Проверьте и продолжите то, что нужно:
schedule-cancel-one = ✖ Убрать расписание «{ $definition }»{ $id ->
    [none] {""}
   *[other] {" "}· { $id }
}
schedule-resume-one = ▶ Продолжить «{ $definition }»{ $id ->
    [none] {""}
   *[other] {" "}· { $id }
}
schedules-next-page = Дальше
schedule-gone = Этого расписания уже нет
schedule-not-yours = Этим расписанием управляет тот, чьи это запуски, или руководитель
schedule-order-late = { $status ->
    [paused] Расписание уже на паузе
   *[waiting] Расписание уже действует
}
schedule-passed = Передано
schedule-too-many = По расписанию у вас уже { $most } запусков, больше нельзя. Отмените лишние: /schedules
schedule-no-owner = Запускать по расписанию некому: у того, чьи это запуски, нет доступа к боту.
schedule-bad-terms = { $fault ->
    [both] Укажите что-то одно: время или расписание.
    [neither] Не указано, когда запускать.
    [zone] Такого часового пояса нет.
    [past] Это время уже прошло.
    [far] Это слишком нескоро: запланировать можно не больше чем на пять лет вперёд.
    [naive] Не указан часовой пояс времени.
   *[moment] Непонятно, когда запускать.
}
schedule-bad-line = { $fault ->
    [length] Строка расписания слишком длинная.
    [fields] В строке расписания должно быть пять полей (минута, час, день, месяц, день недели), а в этой { $count }.
    [never] По такой строке расписания ничего никогда не запустится.
    [often] По такой строке запусков было бы { $count } в день, а можно не больше 288 — это раз в пять минут.
   *[field] В строке расписания { $field ->
        [minute] минута
        [hour] час
        [day] день месяца
        [month] месяц
       *[weekday] день недели
    } не может быть «{ $written }».
}
schedule-refused-engine = Такое здесь не выполняется, запланировать запуск нельзя
schedule-refused-role = Запускать это вам нельзя. Попросите руководителя
schedule-refused-definition = Этого нет или оно сейчас выключено, запланировать запуск нельзя
schedule-refused-owner = Запускать некому: доступа к боту нет
schedule-refused-past = Это время уже прошло. На когда запланировать запуск?
schedule-refused-far = Это слишком нескоро: запланировать можно не больше чем на пять лет вперёд
schedule-refused-many = По расписанию уже слишком много запусков. Отмените лишние: /schedules
schedule-refused-unread = Не получилось проверить, можно ли это запустить. Попробуйте позже
