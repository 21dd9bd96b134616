# Первая страница консоли: что ждёт и что не так.
console-today-waiting = Ждут вашего решения
console-today-others = Ждут других
console-today-unknown = Исход неизвестен
console-today-runs = Запуски
console-today-failed = Запуски с ошибкой за { $days } дней
console-today-run-count = { $status ->
    [running] идут: { $count }
    [waiting] ждут: { $count }
    [paused] на паузе: { $count }
   *[failed] с ошибкой: { $count }
  }
console-today-changes = Ваши изменения за сутки
console-today-of = из { $limit }
console-today-model = Модель в этом месяце
console-today-model-all = Модель в этом месяце, все люди
console-today-budget = ваш лимит: { $percent } %
console-today-tokens = Токенов за месяц
console-today-tokens-all = Токенов за месяц, все люди
console-today-portal = Лимит запросов к Битрикс24
console-today-percent = { $percent } %
console-today-portal-refuses = Битрикс24 пока не принимает: { $acts }
console-today-calm = Всё спокойно: ничего не ждёт решения, все вызовы с понятным исходом.
console-today-all = Все { $count } — на странице согласований
console-today-all-runs = Все { $count } — на странице запусков
console-today-check = Проверьте запись
console-today-run-running = Идёт
console-today-run-waiting = Ждёт
console-today-run-paused = На паузе
console-today-run-failed = Ошибка
console-today-unwell = { $party ->
    [telegram] Telegram
    [database] База данных
    [workers] Очередь работы
    [portal] Битрикс24
    [model] Модель
    [disk] Диск
   *[other] { $party }
}: не работает с { $since }
console-today-undelivered = Не доставлено сообщений: { $count }
console-today-late = Сообщения ждут доставки дольше пяти минут
console-today-freeze = Остановить запись
console-today-freeze-hint = Останавливает все изменения в Битрикс24 для всех сразу. Читать можно.
console-today-freeze-title = Остановить запись в Битрикс24?
console-today-freeze-about = Ни одно изменение не уйдёт, пока вы или другой администратор не разрешите запись снова. Карточки подождут, читать и искать можно.
console-today-freeze-reason = Почему (увидят все, кто попросит об изменении)
console-today-freeze-now = Остановить
console-today-frozen = Запись остановлена для всех.
console-today-release = Разрешить запись
console-today-release-title = Разрешить запись снова?
console-today-release-about = Само ничего не выполнится: карточки ждут своей кнопки.
console-today-release-now = Разрешить
console-today-released = Запись снова разрешена.
console-today-back = Назад
console-numbers = Цифры утра
console-numbers-none = Цифры ещё ни разу не спрашивали. Чтобы посчитать их, копия сделок читается из портала; это займёт несколько минут.
console-numbers-begin = Показать цифры
console-numbers-counting = Считаю…
