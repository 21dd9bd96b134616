# Страница консоли «Согласования»: карточки и решения о них.
console-approvals = Согласования
console-approval = Согласование
console-approvals-filters = Какие карточки показать
console-approvals-filter-requested = Ждут решения
console-approvals-filter-any = Все
console-approvals-filter-executed = Выполнены
console-approvals-filter-denied = Отклонены
console-approvals-filter-expired = Срок истёк
console-approvals-filter-refused = Не выполнены
console-approvals-filter-unknown = Исход неизвестен
console-approvals-none-waiting = Сейчас ничего не ждёт решения. Новые карточки появятся здесь сами.
console-approvals-none = За последние { $days } дней таких карточек нет.
console-approvals-more = Показаны не все: остальные появятся, когда решите эти, или в аудите.
console-approvals-days = Карточки за последние { $days } дней.
console-approvals-audit = Более ранние — в аудите
console-approvals-plan = План: { $count } { $count ->
    [one] шаг
    [few] шага
   *[other] шагов
}. Каждый решается отдельно
console-approvals-others = Другие шаги плана
console-approvals-state-requested = Ждёт решения
console-approvals-state-approved = Выполняется
console-approvals-state-executed = Выполнено
console-approvals-state-denied = Отклонено
console-approvals-state-expired = Срок истёк
console-approvals-state-superseded = Заменено
console-approvals-state-refused = Не выполнено
console-approvals-state-unknown = Исход неизвестен
console-approvals-risk = { $level ->
    [high] Опасно
   *[other] Внимание
}
console-approvals-mode = { $mode ->
    [shadow] Теневой режим: ничего не отправляется
   *[other] Осторожный режим
}
console-approvals-becomes = станет
console-approvals-unfold = Целиком / свернуть
console-approvals-command = { $outcome ->
    [success] Выполнено
    [error] Не выполнено
    [not_run] До этого не дошло
   *[other] Исход неизвестен
}
console-approvals-comment = Пояснение агента
console-approvals-asked = Просит { $who }
console-approvals-until = до { $until }
console-approvals-at = { $until }
console-approvals-told = Решает { $who }
console-approvals-record = Открыть в Битрикс24
console-approvals-run = Запуск
console-approvals-open = Карточка
console-approvals-why = Почему
console-approvals-chat = К разговору, где об этом попросили
console-approvals-approve = Выполнить
console-approvals-approve-danger = Да, выполнить
console-approvals-deny = Отклонить
console-approvals-withdraw = Отменить запрос
console-approvals-cut = Показано не всё
console-approvals-show-whole = Показать всё
console-approvals-deny-title = Отклонить?
console-approvals-deny-now = Отклонить, ничего не отправлять
console-approvals-reason = Почему (прочитает тот, кто просил)
console-approvals-back = Назад
console-approvals-second-title = Точно выполнить?
console-approvals-second = Проверьте ещё раз, что написано на карточке: отменить это может не получиться.
console-approvals-second-now = Точно, выполнить
console-approvals-second-later = Ничего не отправлено: сначала был открыт другой вопрос. Нажмите кнопку этой карточки ещё раз.
console-approvals-close = Скрыть
console-approvals-executed = Выполнено, Битрикс24 подтвердил.
console-approvals-partly = Выполнено не всё: часть команд пакета не прошла. Какие — на карточке.
console-approvals-denied = Отклонено, ничего не отправлено.
console-approvals-refused = Решение принято, но ничего не выполнено: причина на карточке.
console-approvals-unknown = Отправлено, но ответ потерян: неизвестно, выполнено ли. Проверьте запись; повторять сам не буду.
console-approvals-running = Решение принято, выполняется: итог появится на карточке.
console-approvals-accepted = Решение сохранено и скоро будет обработано: итог появится на карточке.
console-approvals-changed = Пока карточка ждала, данные изменились. Ничего не отправлено: решите по новой карточке.
console-approvals-expired = Срок карточки истёк, ничего не отправлено. Попросите ещё раз.
console-approvals-first-approved = Уже решено{ $known ->
    [yes] {" "}({ $who })
   *[no] {""}
}: что вышло — на карточке. Ваше решение ничего не изменило.
console-approvals-first-denied = Уже отклонено{ $known ->
    [yes] {" "}({ $who })
   *[no] {""}
}. Ничего не отправлено.
console-approvals-replaced = Эту карточку уже заменила новая. Ничего не отправлено.
console-approvals-outdated = Карточка изменилась с тех пор, как вы её открыли. Ничего не отправлено: посмотрите её ещё раз.
console-approvals-not-counted = Решение не засчитано, ничего не отправлено. Посмотрите карточку ещё раз.
console-approvals-forbidden = Вам нельзя решать эту карточку.
console-approvals-not-worked = Решение не удалось обработать, ничего не отправлено. Попробуйте ещё раз.
