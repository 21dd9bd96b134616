report-again-unclear = Не понял, что изменить в прошлом отчёте. Спросите целиком, например: «сколько выиграли в этом месяце по менеджерам».
report-gone = Этот отчёт уже нельзя изменить. Спросите его снова.
report-of-another = Отчёт спрашивал другой человек. Спросите свой – числа будут по вашим правам.
report-changed = Пересчитал
report-records = Записи – ниже
report-file = Файл – ниже
report-how-shown = Как считано – ниже
report-how = { $definition }
  { $period ->
     [""] {""}
    *[other] {""}
      Период: { $period }.
  }{ $compared ->
     [""] {""}
    *[other] {""}
      Сравнение: { $compared }.
  }{ $filter ->
     [""] {""}
    *[other] {""}
      Отбор: { $filter }.
  }
  Записей: { $records }.{ $notes ->
     [""] {""}
    *[other] {""}
      { $notes }
  }{ $asof ->
     [""] {""}
    *[other] {""}
      { $asof }
  }
