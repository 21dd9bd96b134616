# The page of health in the console.
console-health = Состояние
console-health-frozen = Все изменения в Битрикс24 остановлены.
console-health-parties = Что нужно боту для работы
console-health-unknown = Пока неизвестно.
console-health-party = { $party ->
    [telegram] Telegram
    [database] База данных
    [workers] Обработка сообщений
    [portal] Битрикс24
    [model] Языковая модель
    [disk] Диск
   *[other] { $party }
  }
console-health-works = { $ok ->
    [yes] работает
   *[no] не работает
  }
console-health-since = с { $since }
console-health-queue = Что ждёт
console-health-row = { $kind ->
    [inbox-turn] Сообщения людей
    [inbox-express] Решения и команды
    [outbox-new] Ответы к отправке
    [outbox-failed] Не доставлено
    [effects-requested] Карточки ждут решения
    [effects-approved] Подтверждены, ещё не начаты
    [effects-started] Выполняются
    [effects-unknown] Исход неизвестен
    [runs-running] Запуски идут
    [runs-waiting] Запуски ждут
    [runs-paused] Запуски на паузе
    [timers] Отложено на время
   *[timers-due] Из них пора
  }
console-health-oldest = ждёт с { $since }
console-health-size = Размер базы
console-health-megabytes = { $count } МБ
console-health-limits = Ограничения Битрикс24
console-health-unlimited = Ограничение числа запросов выключено.
console-health-level = Счётчик запросов: { $level } из { $burst }
console-health-rate = Спадает на { $rate } в секунду.
console-health-waiting = Ждут очереди: { $waiting }, отправлены и ждут ответа: { $flying }
console-health-operating = { $used ->
    [yes] Время выполнения методов за 10 минут, предел { $budget } с:
   *[no] Время выполнения методов за 10 минут: ни один не занял и секунды из { $budget }.
  }
console-health-session = { $kind ->
    [access] список людей
    [door] приём сообщений
    [portal] события Битрикс24
    [definition-news] новости об определениях
    [policy] правила
    [schedules] расписания
    [run] запуск: { $id }
   *[other] { $session }
  }
console-health-refused = Битрикс24 пока не принимает
console-health-seconds = { $name }: { $seconds } с
console-health-leases = Диалоги и запуски в обработке: { $count }
console-health-no-leases = Сейчас ничего не обрабатывается.
console-health-until = процесс { $owner }, до { $until }
console-health-more = И ещё { $count }.
console-health-providers = Поставщики моделей
console-health-breaker = { $state ->
    [closed] работает
    [half-open] пробуем снова
   *[open] отключён после ошибок
  }
console-health-charts = Что было
console-health-as-of = На { $time }. Обновляется раз в минуту.{ $cut ->
    [yes] {" "}Событий слишком много, учтены не все.
   *[no] {""}
  }
console-health-chart = { $chart ->
    [calls] Изменения в Битрикс24 за 14 дней
    [waits] Сколько карточки ждали решения, за 14 дней
   *[usage] Расход модели за этот месяц
  }
console-health-end = { $end ->
    [succeeded] выполнено
    [refused] отказ
   *[unknown] исход неизвестен
  }
console-health-day = День
console-health-wait = { $group ->
    [0] до минуты
    [1] 1–5 мин
    [2] 5–15 мин
    [3] до часа
    [4] 1–4 часа
    [5] до суток
   *[6] дольше
  }
console-health-median = Половина решена быстрее, чем за { $waited }.
console-health-waited = Ожидание
console-health-cards = Карточек
console-health-person = Кто
console-health-tokens = Токенов
console-health-money = Стоимость
console-health-no-prices = Цены моделей в правилах не заданы, поэтому показаны токены.
console-health-no-calls = За эти дни изменений не было.
console-health-no-waits = За эти дни карточек не решали.
console-health-no-usage = В этом месяце модель не спрашивали.
console-health-values = Значения
console-health-why = { $why ->
    [no-answer] не отвечает
    [token-not-accepted] токен не принят
    [no-access] нет доступа
    [no-connection] нет соединения
    [nothing-was-heard-yet] ещё ничего не слышно
   *[other] { $said }
  }
