# Поручения: что бот делает сам, в срок, при изменениях и при тишине.
menu-orders = Что я делаю по вашим поручениям
order-field = { $field ->
    [STAGE_ID] стадия
    [STATUS_ID] стадия
    [CATEGORY_ID] воронка
    [OPPORTUNITY] сумма
    [CURRENCY_ID] валюта
    [ASSIGNED_BY_ID] ответственный
    [RESPONSIBLE_ID] исполнитель
    [CLOSEDATE] дата закрытия
    [SOURCE_ID] источник
    [COMPANY_ID] компания
    [STATUS] состояние
    [DEADLINE] срок
    [new] новая запись
   *[other] { $field }
}
order-when-changes = { $records }: { $fields }{ $condition ->
    [none] {""}
   *[other] {" "}(при условии { $condition })
}
order-when-quiet = { $records }: { $days ->
    [one] { $days } день
    [few] { $days } дня
   *[other] { $days } дней
} без событий
order-do-report = отчёт «{ $title }»
order-do-propose = { $doing ->
    [none] предложу действие на карточке
   *[other] предложу на карточке: «{ $doing }»
  }
order-do-text = { $to ->
    [owner] напишу ответственным: «{ $text }»
   *[me] пришлю «{ $text }»
}
order-do-tell = { $to ->
    [owner] напишу ответственным
    [both] напишу вам и ответственным
   *[me] напишу вам
}
orders-listed = { $count ->
    [0] Поручений нет. Скажите, например: «каждый понедельник в 9 отчёт по команде» или «скажи, если сумма сделки Ромашка изменится».
   *[other] Ваши поручения:
}
orders-elsewhere = Поручения показываю только в личном чате со мной
order-line = { $number }. { $when } → { $what }. До { $until }{ $state }{ $fired ->
    [0] {""}
   *[other] . Сработало: { $fired }
}
order-next = . Следующий раз: { $moment }
order-paused = . На паузе: { $why }
order-why = { $why ->
    [person] по вашей просьбе
    [restored] бота восстановили из резервной копии
    [owner_left] у того, кто дал поручение, больше нет доступа к боту
    [unclear] не могу больше прочитать, о чём оно: переименовали или удалили стадию, поле или запись
    [closed] портал больше не даёт этих данных
    [often] сработало слишком много раз за день
   *[other] не получилось выполнить из-за ошибки
}{ $detail ->
    [none] {""}
   *[other] {" "}({ $detail })
}
order-added = Поручение принято: { $when } → { $what }. До { $until }. Все поручения: /orders
order-changed = Поручение изменено: { $when } → { $what }. До { $until }
order-person-paused = Поручение на паузе: { $when } → { $what }
order-was-resumed = Поручение снова работает: { $when } → { $what }
order-was-removed = Поручение снято: { $when } → { $what }
order-expired = Срок поручения вышел, больше не слежу: { $when } → { $what }. Если нужно дальше, дайте его снова
order-was-paused = { $who ->
    [none] Поручение
   *[other] Поручение ({ $who })
} на паузе: { $when } → { $what }. Причина: { $why }. Чтобы исправить, снимите его и скажите заново или нажмите «Продолжить», когда причина уйдёт
order-missed = Не смог выполнить поручение: портал три часа не давал данных ({ $when } → { $what })
order-now = ⏰ По вашему поручению: { $when }
order-late = ⏰ По вашему поручению: { $when }. Прихожу с опозданием: в срок я не работал
order-says = { $text }
order-news = 🔔 По вашему поручению: { $when }
order-news-owner = 🔔 Просьба от { $who }: { $when }
order-proposes = 🔔 По вашему поручению: { $when }. Предлагаю:
order-not-proposed = «{ $title }»: не предлагаю. { $why }
order-gone = Такого поручения уже нет. Все поручения: /orders
order-so-already = Это уже так
order-too-many = Поручений уже { $most }, больше нельзя. Снимите лишние: /orders
order-past = Это время уже прошло. На когда сделать?
order-pause-one = ⏸ { $number ->
    [0] Пауза
   *[other] Пауза { $number }
}
order-resume-one = ▶ { $number ->
    [0] Продолжить
   *[other] Продолжить { $number }
}
order-remove-one = ✖ { $number ->
    [0] Снять
   *[other] Снять { $number }
}
orders-restored = Бота восстановили из резервной копии { $at }. Эти поручения на паузе: скажите, какие продолжить
order-refused-unclear = Не вижу записи или отчёта, о которых это поручение, или они не ваши. Скажите другими словами, о чём оно
order-refused-closed = Портал не даёт этих данных, поэтому такое поручение выполнить не смогу
order-refused-later = Портал сейчас не даёт данных, ничего не сделано. Попробуйте чуть позже
order-refused-unread = Не смог проверить поручение, ничего не сделано. Попробуйте чуть позже
order-refused-past = Это время уже прошло. На когда сделать?
order-refused-gone = Такого поручения нет. Все поручения: /orders
order-refused-many = Поручений уже слишком много. Снимите лишние: /orders
order-refused-change = Так это поручение не изменить: снимите его и дайте новое
which-order = Какое поручение вы имеете в виду?
