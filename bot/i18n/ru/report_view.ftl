# Words of pictures, captions and files of reports (bot/rendering/pictures, report_caption, report_file)
picture-more = и ещё { $count }
picture-more-columns = { $name ->
    [none] столбцов нет на картинке: { $count }
   *[other] { $name }: ещё { $count } в файле
 }
picture-empty = За этот период данных нет
picture-before = было { $before } · { $period }
picture-plan-line = план { $plan }
picture-plan = план { $plan }{ $elapsed ->
    [none] {""}
   *[other] {" "}· прошло { $elapsed } срока
 }
picture-needed = нужно в день до плана
picture-tick = { $word ->
    [percent] { $number } %
    [thousand] { $number } тыс.
    [million] { $number } млн
    [billion] { $number } млрд
    [trillion] { $number } трлн
   *[other] { $number }
 }
report-total = Всего
report-before = было { $before }
report-unfinished = (ещё идёт)
report-causes = Из чего сложилось изменение (это не причина):
    { $causes }
report-earlier = раньше – ещё { $count } (в файле)
report-between = ещё { $count } (в файле)
report-plan = План { $plan }: сделано { $done }, прошло { $elapsed } срока, { $is_open ->
    [no] сверх плана { $left }
   *[other] осталось { $left }
 }{ $needed ->
    [none] {""}
   *[other] {" "}(нужно { $needed } в день)
 }
report-button-list = { $of ->
    [deals] 📋 Сделки
    [leads] 📋 Лиды
    [calls] 📋 Звонки
    [activities] 📋 Дела
    [tasks] 📋 Задачи
    [companies] 📋 Компании
   *[other] 📋 Записи
 }
report-button-picture = 🖼 Картинкой
report-button-file = 📎 Excel
report-button-how = ❓ Как считано
report-button-back = ◀ Назад
report-sheet-how = Как считано
report-file-change = { $name }: изменение, %
report-file-before = { $name }: было
report-file-money = { $name }, { $currency }
report-file-records = Записей
report-file-definition = Как считано
report-file-period = Период
report-file-compared = Сравнение
report-file-filter = Отбор
report-file-as-of = Время данных
report-file-note = Примечание
report-file-plan = План
report-file-name = Отчёт
