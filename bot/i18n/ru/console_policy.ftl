# The page of the policy in the console.
console-policy = Правила
console-policy-reader = Правила меняет администратор. Здесь видно, что действует сейчас.
console-policy-closed = { $why ->
    [not_set] Действуют правила из поставки. Чтобы менять их здесь, создайте файл (достаточно строки «rules: []»), укажите путь к нему в настройке POLICY_FILE и перезапустите бота.
    [missing] Файла { $name }, на который указывает POLICY_FILE, нет. Создайте его и откройте страницу снова.
    [unreadable] Файл { $name } не читается: проверьте права и кодировку (UTF-8).
    [file_closed] Файл { $name } боту записывать нельзя. Дайте его пользователю право на запись или меняйте файл на сервере.
   *[folder_closed] В папку файла { $name } боту писать нельзя, а новый файл сначала записывается рядом. Дайте его пользователю право на запись в папку или меняйте файл на сервере.
  }
console-policy-now = Действует сейчас
console-policy-version = Версия { $digest }: поставляемые правила и ваш файл вместе.
console-policy-file = Файл { $name }
console-policy-save = Сохранить
console-policy-undo = Вернуть текст файла
console-policy-right = Ошибок нет. Правил: { $rules }, версия { $digest }.
console-policy-wrong = { $count ->
    [one] { $count } ошибка: с ней текст не сохранится
    [few] { $count } ошибки: с ними текст не сохранится
   *[other] { $count } ошибок: с ними текст не сохранится
  }
console-policy-restart = Методы, добавленные в каталог, заработают после перезапуска бота.
console-policy-line = строка { $line }
console-policy-saved = Сохранено. Бот читает новый текст…
console-policy-in-force = Сохранено и действует: версия { $digest }.
console-policy-not-taken = Сохранено, но бот пока работает по прежним правилам. Посмотрите в сообщениях бота, почему.
console-policy-not-written = Записать файл не получилось ({ $why }). Прежний текст цел, ваш остался в редакторе.
console-policy-conflict = { $why ->
    [changed] Пока вы правили, файл изменил кто-то другой. Ничего не сохранено, ваш текст остался в редакторе. Что изменилось в файле:
   *[other] Файл за это время стал недоступен. Ничего не сохранено, ваш текст остался в редакторе.
  }
console-policy-conflict-choice = Перенесите чужие изменения в свой текст или возьмите текст файла целиком.
console-policy-mine = Продолжить со своим текстом
console-policy-theirs = Взять текст файла
console-policy-rehearsal = Что изменится
console-policy-rehearsal-why = Текст из редактора примеряется к тому, что бот уже предлагал. Ничего не отправляется и не сохраняется.
console-policy-period = За сколько дней
console-policy-days = { $count ->
    [one] { $count } день
    [few] { $count } дня
   *[other] { $count } дней
  }
console-policy-try = Примерить
console-policy-try-wrong = Сначала исправьте ошибки в тексте.
console-policy-stop = Остановить
console-policy-stopped = Остановлено.
console-policy-progress = Сколько прочитано
console-policy-reading = Проверено действий: { $steps }, отличий: { $changed }
console-policy-read = Проверено действий: { $steps }, планов: { $plans }.{ $cut ->
    [yes] {" "}Это самые новые: остальные не вошли, их слишком много.
   *[no] {""}
  }
console-policy-no-plans = За это время бот ничего не предлагал.
console-policy-no-change = С этим текстом всё решалось бы так же.
console-policy-moved = { console-policy-before }: { $count }
console-policy-before = { $before ->
    [allowed] сразу
    [asked] спрашивал
    [refused] отказывал
    [planned] только план
   *[other] иначе
  } → { $after ->
    [allowed] сразу
    [asked] спросит
    [refused] откажет
    [not-begun] не начнёт
    [planned] только план
   *[other] не решит
  }
console-policy-otherwise = решение то же, причина другая: { $count }
console-policy-more = { $count ->
    [one] И ещё { $count } отличие.
    [few] И ещё { $count } отличия.
   *[other] И ещё { $count } отличий.
  }
console-policy-becomes = становится
console-policy-verdict = { $verdict ->
    [allowed] сразу
    [asked] с карточкой
    [refused] отказ
    [planned] только план
    [not-begun] не начинается
   *[other] нет доступа
  }
console-policy-none = { $key ->
    [ask_above] не задано
    [four_eyes_above] не задано
    [writes_per_day] без ограничения
    [tokens_per_month] без ограничения
    [money_per_month] без ограничения
    [sum_jump] никогда
   *[other] нет
  }
console-policy-count = { $key ->
    [sum_jump] в { $count } раз
    [undo_for] { $count } мин
    [remind_lead_after] { $count } мин
   *[other] { $count }
  }
console-policy-part = { $part ->
    [limits] Пределы
    [asking] Что спрашивать и что запрещено
    [rules] Правила компании
    [outside] Что можно вне Битрикс24
    [models] Расход модели на человека
   *[roles] Кто правит сценарии и процессы
  }
console-policy-key = { $key ->
    [ask_above] Спрашивать, если сумма записи больше
    [four_eyes_above] Второй человек нужен, если сумма больше
    [sum_jump] Двойное подтверждение, если сумма меняется
    [records_per_batch] Изменений в одном пакете, не больше
    [writes_per_day] Изменений одного человека за сутки, не больше
    [undo_for] Отменить изменение кнопкой можно
    [remind_lead_after] Напомнить руководителю через
    [rates] Курсы валют
    [critical_fields] Поля, изменение которых всегда с карточкой
    [ask_methods] Действия, которые всегда с карточкой
    [ask_people] Люди, у которых всё с карточкой
    [open_methods] Открытые действия (по умолчанию закрыты)
    [refuse_methods] Запрещены всем
    [halt_on_block] План останавливается на первом шаге с вопросом
    [read_linked_customers] Клиентов своих сделок читать можно
    [delete_own_comments] Свои комментарии удалять можно
    [open_kinds] Виды действий
    [http_hosts] Сайты
    [http_private_hosts] Из них во внутренней сети
    [mongo_collections] Коллекции базы Mongo
    [telegram_chats] Чаты Telegram
    [event_handler_hosts] Куда отправлять события портала
    [tokens_per_month] Токенов в месяц
    [money_per_month] Денег в месяц
    [prices] Цены моделей за миллион токенов (чтение / ответ)
    [budget_people] Особые пределы
    [edit] Правят: { $name }
   *[publish] Публикуют: { $name }
  }
console-policy-then = { $then ->
    [ask] карточка
    [ask_twice] карточка, два подтверждения
    [lead] решает руководитель
    [two_people] решают двое
   *[refuse] запрещено
  }
console-policy-when = { $name ->
    [method] действие: { $words }
    [entity] { $words }
    [field] меняется { $words }
    [person] просит { $words }
    [role] просит { $words }
    [mode] режим: { $words }
    [times] сумма меняется в { $words } раз и больше
   *[above] сумма больше { $words }
  }
console-policy-word = { $word ->
    [yes] да
    [no] нет
    [deal] сделки
    [lead] лиды
    [contact] контакты
    [company] компании
    [task] задачи
    [quote] предложения
    [shadow] теневой
    [canary] осторожный
    [full] полный
    [telegram] сообщения в Telegram
    [file] файлы
    [http] запросы к сайтам
    [mongo] база Mongo
    [schedule] расписания
   *[other] { $word }
  }
console-policy-opened = как было открыто
console-policy-in-file = в файле сейчас
