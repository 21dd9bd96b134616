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
