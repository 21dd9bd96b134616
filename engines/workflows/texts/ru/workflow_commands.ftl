# Команды sdelka workflow: что они говорят автору в терминале, кроме того, что есть во flow_commands.ftl.
workflow-cli-order = Частей: { $count }, очередей: { $levels }. Части одной очереди выполняются одновременно.
workflow-cli-column = { $column ->
    [level] очередь
    [tuum] часть
    [after] ждёт
    [takes] берёт
   *[other] публикует
}
workflow-cli-proposed = Предложено изменений: { $count }. Это план, ничего не отправлено:
workflow-cli-finished = Выполнено: { $names }.
workflow-cli-record = Номер записи, на которой он работает ({ $kind })?
workflow-cli-block = { $what ->
    [block] блок
    [status] состояние
    [workflow] процесс
    [person] сотрудник
    [begun] начат
    [ended] закончен
    [changed] что изменилось
    [record] запись
    [run] запуск
    [parent] предыдущий результат
    [field] поле
    [before] было
    [now] изменили на
    [proposed] предложено
    [after] стало
    [chosen] выбрано
    [operation] изменение
    [result] итог
    [why] почему
    [is] значение
   *[other] что
}
workflow-cli-block-status = { $status ->
    [Idle] готов
    [Loading] в работе
    [Conflict] ждёт выбора
    [Error] не получилось
    [dismissed] отложен
   *[over] запуск завершён без результата
}
workflow-cli-block-erased = стёрто
workflow-cli-block-erased-note = Тексты и значения стёрты вместе с данными сотрудника.
workflow-cli-block-more = и ещё полей: { $count }
workflow-cli-block-section = { $name ->
    [fields] Поля записи
    [conflicts] Что изменили, пока процесс работал
   *[operations] Что стало с изменениями
}
workflow-cli-block-chosen = { $side ->
    [person] оставить как изменили
    [process] как предложено
   *[none] ещё не выбрано
}
workflow-cli-block-result = { $status ->
    [succeeded] сделано
    [already] уже было так
    [planned] только план
    [refused] отказано
    [failed] не получилось
    [not_run] не выполнялось
   *[unknown] неизвестно
}
