# Изменения многих записей сразу
bulk-progress = ⏳ Меняю записи: { $made } из { $count }{ $left ->
    [0] {""}
   *[other] , пропущено: { $left }
}
bulk-stop = ✖ Остановить
bulk-undo = ↩ Вернуть всё, как было
bulk-done = ✅ Сделано: { $made } из { $count }
bulk-why = { $why ->
    [gate-bulk-changed] Изменились, пока карточка ждала
    [gate-already-so] Уже так
    [gate-not-yours] Больше не ваши
    [gate-not-found] Удалены
    [bulk-unknown] Неизвестно, выполнено ли: проверьте в Битрикс24
    [bulk-unmet] Битрикс24 ответил «да», но значения не изменил
    [bulk-not-sent] Не выполнено: программа остановилась посреди. Попросите ещё раз
    [gate-bulk-part] Одобрение больше не действует
    [freeze] Запись остановлена
   *[other] Битрикс24 отказал
}
bulk-left = • { bulk-why }: { $count }. { $titles }{ $more ->
    [0] {""}
   *[other] {" "}и ещё { $more }
}
bulk-untold = ⚠️ Новым ответственным сообщить не удалось: { $count }
