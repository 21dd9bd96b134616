# Почему шлюз отказал или спрашивает. Коды — в orchestrator/gate/call/reasons.py; тест сверяет их с этим файлом.

## Отказы
gate-method-odd = Не понял, что нужно сделать в Битрикс24. Скажите другими словами
gate-method-unknown = Такого в Битрикс24 делать не умею. Скажите другими словами, что должно получиться
gate-params = Не смог прочитать параметры: { $why }
what-to-do = { $doing ->
    [none] {""}
   *[other] : { $doing }
  }
what-is-called = { $called ->
    [none] {""}
   *[other] : { $called }
  }
gate-param-unknown = Не получилось { $doing ->
    [none] выполнить
   *[other] { $doing }
  }: такого поля там нет{ what-is-called }{ $titles ->
    [none] {""}
   *[other] . Похожие: { $titles }
  }
gate-filter-field = Искать по этому полю нельзя: такого у этих записей нет{ $titles ->
    [none] {""}
   *[other] . Похожие: { $titles }
  }
gate-param-missing = Не хватает данных{ what-is-called }
gate-param-invalid = Не понял { $called ->
    [none] одно из значений
   *[other] значение «{ $called }»
  }. Скажите по-другому, а запись назовите по названию или номеру
gate-param-twice = Одно и то же указано дважды{ what-is-called }
gate-param-reserved = Это поле менять нельзя{ what-is-called }
gate-origin = Метку источника ставит только сам бот
gate-responsible = Укажите ответственного
gate-batch-broken = Не смог разобрать пакет команд
gate-filter-foreign = Это записи других сотрудников, а вам видны только свои
gate-filter-unclear = Так искать не могу: с таким условием видны были бы и чужие записи
gate-kind = Такие действия выключены администратором
gate-file-path-empty = Не указан файл
gate-file-path-hidden = Скрытые файлы не трогаю: имя начинается с точки
gate-file-path-invisible = В имени файла есть невидимый знак, поэтому ничего не сделано
gate-file-path-long = Слишком длинный путь к файлу
gate-file-path-odd = Такое имя файла не годится: лишние пробелы, точки или служебные знаки
gate-file-path-outside = Этот файл вне отведённой папки, туда доступа нет
gate-schedule-person = Запускать по расписанию можно только для людей в мессенджере и для ключей API
gate-schedule-when = { $fault ->
    [both] Для запуска по расписанию нужно что-то одно: время или расписание
    [neither] Не указано, когда запускать
    [zone] Такого часового пояса нет
    [naive] У времени запуска не указан часовой пояс
    [moment] Непонятно, когда запускать
   *[line] По такой строке расписания запускать нельзя
  }. Покажите автору: { $param }
gate-order-unclear = Поручение составлено с ошибкой, поэтому не принято. Скажите другими словами, что и когда нужно
gate-order-unwatched = За этим следить не могу. Скажу, если изменится: у сделки — стадия, воронка, сумма, валюта, ответственный, дата закрытия, источник или компания; у лида — стадия, сумма, валюта, ответственный или источник; у задачи — состояние, срок или исполнитель. Ещё скажу о новой записи и о тишине
gate-kind-method = Такого действия я не знаю. Скажите другими словами, что должно получиться
gate-kind-params = Запрос составлен с ошибкой, поэтому не выполнен. Покажите автору: { $param }
gate-kind-missing = Это действие не настроено на этом сервере, скажите администратору ({ $setting })
gate-http-host = Адрес { $host } не открыт администратором
gate-mongo-operator = В данных со стороны есть имена полей, которые база приняла бы за команды ({ $names }), поэтому ничего не отправлено
gate-mongo-collection = Раздел базы «{ $collection }» не открыт администратором
http-not-sent = Запрос не отправлен: адрес не найден или закрыт, скажите администратору
http-not-reached = Не удалось связаться с сайтом: ничего не отправлено. Попробуйте ещё раз чуть позже
http-refused = Сайт отказал (код { $status }): { $text }
http-refused-silent = Сайт отказал (код { $status })
http-unreadable = Ответ сайта прочитать не удалось
mongo-not-reached = Не удалось связаться с базой данных: ничего не изменено. Попробуйте ещё раз чуть позже
mongo-refused = База данных отказала: { $text }
mongo-duplicate = В базе уже есть запись с такими же значениями: новая не добавлена
mongo-unusable = База данных настроена неверно, скажите администратору: ничего не отправлено
mongo-several = Подходит несколько записей, а действие для одной. Уточните, какая нужна
mongo-too-many = Подходит больше 1 000 записей. Уточните условие
mongo-changed = Тем временем записи изменились: подходят уже другие, поэтому ничего не сделано. Попробуйте ещё раз
mongo-too-long = Запись слишком длинная, чтобы показать её целиком. Назовите нужные поля
gate-closed = Это действие выключено администратором{ what-to-do }
gate-delete = Удаление выключено. Его может включить администратор
# Отказ, когда о действии просил не человек, а прочитанный текст: «В тексте записи была просьба удалить сделку «Ромашка» №481; …».
foreign-object = { $entity ->
    [activity] {" "}дело
    [category] {" "}воронку
    [chat] {" "}чат
    [checklistitem] {" "}пункт чек-листа
    [comment] {" "}комментарий
    [company] {" "}компанию
    [contact] {" "}контакт
    [deal] {" "}сделку
    [event] {" "}событие
    [item] {" "}элемент
    [lead] {" "}лид
    [message] {" "}сообщение
    [productrow] {" "}товары
    [status] {" "}стадию
    [task] {" "}задачу
    [user] {" "}сотрудника
   *[other] {" "}запись
  }{ $title ->
    [none] {""}
   *[other] {" "}«{ $title }»
  }{ $id ->
    [0] {""}
   *[other] {" "}№{ $id }
  }
foreign-act = { $verb ->
    [add] создать{ foreign-object }
    [update] изменить{ foreign-object }
    [delete] удалить{ foreign-object }
    [set] заменить{ foreign-object }
    [move] перенести{ foreign-object }
    [complete] завершить{ foreign-object }
    [bind] подписаться на события портала
    [unbind] отписаться от событий портала
   *[other] сделать то, что здесь закрыто
  }
gate-foreign-request = { $source ->
    [message] В чужом тексте
   *[other] В тексте записи
  } была просьба { foreign-act }; я её не выполняю
gate-mode = { $mode ->
    [canary] Сейчас бот работает в осторожном режиме: читает и создаёт, но не меняет
   *[other] В этом режиме такое действие недоступно
  }
gate-handler = Адрес { $host } не в списке разрешённых, события туда не отправляю
gate-needs-application = Подписка на события работает только через приложение Битрикс24, а я подключён вебхуком. Чтобы я сообщал об изменениях ваших сделок, администратор создаёт в портале исходящий вебхук и вписывает его токен в настройки бота: шаги описаны в docs/events.md
gate-needs-application-other = Это работает только через приложение Битрикс24, а я подключён вебхуком{ what-to-do }
gate-not-found = { $entity ->
    [user] Не нашёл сотрудника №{ $id }
    [deal] Не нашёл сделку №{ $id }: её нет или её удалили
    [lead] Не нашёл лид №{ $id }: его нет или его удалили
    [contact] Не нашёл контакт №{ $id }: его нет или его удалили
    [company] Не нашёл компанию №{ $id }: её нет или её удалили
    [task] Не нашёл задачу №{ $id }: её нет или её удалили
   *[other] Не нашёл запись №{ $id }: её нет или её удалили
}
gate-not-author = Изменить и удалить можно только комментарий, который написали вы сами
gate-not-yours = { $entity ->
    [deal] Сделку №{ $id } ведёт другой сотрудник, у вас нет к ней доступа
    [lead] Лид №{ $id } ведёт другой сотрудник, у вас нет к нему доступа
    [contact] Контакт №{ $id } ведёт другой сотрудник, у вас нет к нему доступа
    [company] Компанию №{ $id } ведёт другой сотрудник, у вас нет к ней доступа
    [task] Задачу №{ $id } ведёт другой сотрудник, у вас нет к ней доступа
   *[other] Запись №{ $id } ведёт другой сотрудник, у вас нет к ней доступа
  }
gate-unscoped = Это доступно только тем, кто видит все записи
gate-unread = Не смог прочитать запись №{ $id }, поэтому ничего не трогаю
gate-target-unclear = Непонятно, о какой записи речь
gate-already-so = Уже так: эти значения в записи и стоят, ничего не отправлено
gate-no-user = Для вас не указан сотрудник Битрикс24. Попросите администратора добавить его
gate-user-inactive = Сотрудника №{ $id } нет или он уволен, назначить его нельзя
gate-value-date = { $field }: не понял дату «{ $value }». Назовите день, например 30 ноября или 30.11.2026
gate-value-year = { $field }: день «{ $value }» не подходит. Нужен день с { $since } по { $until }
gate-value-order = Время «{ $field }» раньше, чем «{ $begin }». Назовите и то и другое ещё раз
gate-value-number = { $field }: не понял число «{ $value }». Напишите его цифрами без пробелов, например 150000 или 1500.50
gate-value-range = { $field }: «{ $value }» не подходит. Нужно число от { $least } до { $most }
gate-value-stage = { $value ->
    [none] Такой стадии
   *[other] Стадии «{ $value }»
  } в этой воронке нет. Есть: { $known }
gate-value-choice = { $field }: { $value ->
    [none] такого значения
   *[other] значения «{ $value }»
  } нет в списке. Есть: { $known }
gate-value-flag = { $field }: не понял «{ $value }». Скажите просто: включить или выключить
gate-value-user = { $field }: не нашёл сотрудника по слову «{ $value }». Назовите имя и фамилию
gate-value-id = { $field }: не понял, что за запись «{ $value }». Назовите её точнее, по названию или номеру
gate-value-text = { $field }: здесь нужен текст, а стоит «{ $value }». Скажите, что написать
gate-value-word = { $field }: не смог записать «{ $value }» так, как это понимает портал. Повторите просьбу
gate-value-empty = { $field }: пустым это поле не бывает. { $known ->
    [none] Назовите значение
   *[other] Назовите одно из: { $known }
  }
gate-value-single = { $field }: здесь одно значение, а стоит несколько: «{ $value }». Назовите одно
gate-value-several = { $field }: здесь нужен список, а стоит «{ $value }». Перечислите, кто или что там должно быть
gate-value-currency = { $field }: «{ $value }» – не код валюты. Нужны три латинские буквы, например RUB
gate-value-reminder = { $field }: не понял «{ $value }». Скажите, за сколько напомнить, например за 15 минут
gate-value-color = { $field }: «{ $value }» – не цвет. Нужен код цвета, например #39A8EF
gate-value-digits = { $field }: в «{ $value }» нет цифр. Напишите номер цифрами
gate-value-zone = { $field }: «{ $value }» – не часовой пояс. Нужен пояс вида Europe/Moscow
gate-value-email = «{ $value }» – не адрес почты. Нужен адрес вида ivan@example.ru
gate-value-phone = «{ $value }» – не телефон: в нём нет цифр. Напишите номер цифрами
gate-row-discount = { $product ->
    [none] Цена
   *[other] «{ $product }»: цена
  } { $price } и скидка { $discount }: это цена до скидки или уже с ней? { $left ->
    [none] Назовите цену, которую заплатят
   *[other] Если до, заплатят { $left }, если уже с ней, { $price }
  }
gate-row-price = Скидка { $discount }{ $product ->
    [none] {""}
   *[other] {" "}на «{ $product }»
  }: какой станет цена, уже со скидкой? Напишите её
gate-move-funnel = Вместе с другими полями воронку не сменить. { $id ->
    [0] Напишите отдельно: «перенеси сделку в воронку …»
   *[other] Напишите отдельно: «перенеси сделку { $id } в воронку …»
  } и назовите воронку, а если важно, и стадию
gate-policy-refuses = Это действие запретил администратор{ what-to-do }
gate-rule-refuses = { $why }
gate-cap-batch = В пакете изменений: { $count }, а за один раз можно { $limit }. Разделите на части
gate-bulk = { $count ->
    [1] Меняется запись из большого изменения
   *[other] Сразу много записей: { $count }
}
gate-bulk-limit = Записей: { $count }. Если их больше { $limit }, подтверждает и второй человек
gate-bulk-sum = Вместе на { $amount }. Если больше { $limit }, подтверждает и второй человек
gate-bulk-many = Под условие подходит записей: { $count }, а сразу можно менять не больше { $limit }. Уточните условие
gate-bulk-none = Под это условие не подходит ни одна запись
gate-bulk-place = У этих записей нет поля { $param }, поэтому ничего не готовлю. Скажите иначе, что подставить
gate-bulk-nothing = { $other ->
    [0] Менять нечего: во всех найденных записях уже так ({ $already })
   *[other] { $already ->
    [0] Менять нечего: ни одну из найденных записей изменить нельзя ({ $other }) — нет прав, удалены или уже изменены
   *[other] Менять нечего: в { $already } из { $count } записей уже так, остальные ({ $other }) изменить нельзя — нет прав, удалены или уже изменены
  }
  }
gate-bulk-method = Для многих записей сразу это действие не подходит: можно менять и создавать записи внутри Битрикс24
gate-bulk-field = Сразу во многих записях это менять нельзя: { gate-field }. В списках не видно, что там сейчас, и прежнее не вернуть. Меняйте в каждой записи отдельно
gate-bulk-gone = Что сделало это изменение, уже неизвестно, или оно ещё идёт
gate-bulk-part = Одобрение больше не действует
gate-bulk-changed = Изменилась, пока карточка ждала
gate-cap-day = За сутки можно сделать изменений: { $limit }, уже сделано { $made }. Остальное — завтра или через администратора
currency-has = { $has ->
    [RUB] рублях
    [USD] долларах
    [EUR] евро
    [GBP] фунтах
    [CNY] юанях
    [KZT] тенге
    [BYN] белорусских рублях
    [UAH] гривнах
    [UZS] сумах
    [TRY] лирах
    [AED] дирхамах
   *[other] { $has }
  }
currency-named = { $named ->
    [RUB] рублях
    [USD] долларах
    [EUR] евро
    [GBP] фунтах
    [CNY] юанях
    [KZT] тенге
    [BYN] белорусских рублях
    [UAH] гривнах
    [UZS] сумах
    [TRY] лирах
    [AED] дирхамах
   *[other] { $named }
  }
currency-to = { $named ->
    [RUB] рубли
    [USD] доллары
    [EUR] евро
    [GBP] фунты
    [CNY] юани
    [KZT] тенге
    [BYN] белорусские рубли
    [UAH] гривны
    [UZS] сумы
    [TRY] лиры
    [AED] дирхамы
   *[other] { $named }
  }
gate-sum-other-currency = { $entity ->
    [deal] Сделка
    [lead] Лид
   *[other] Запись
  } №{ $id } в { currency-has }, а сумма названа в { currency-named }. Назовите сумму в { currency-has } или напишите: «смени валюту { $entity ->
    [deal] сделки
    [lead] лида
   *[other] записи
  } { $id } на { currency-to } и сумму на { $sum }»
gate-named-other-currency = { $entity ->
    [deal] Сделка
    [lead] Лид
   *[other] Запись
  } №{ $id } в { currency-has }, а названо в { currency-named }. Пересчитайте и назовите в { currency-has }
gate-sum-two-currencies = Новая запись в { currency-has }, а сумма названа в { currency-named }. Назовите что-то одно
gate-sum-currency-unknown = Сумма названа в { currency-named }, а в какой валюте запись, я не знаю. Скажите точнее, о какой записи речь
gate-kept-file = Прежний файл возвращает только кнопка «Отменить»
gate-password = Пароли я не меняю: это делает сам сотрудник или администратор в Битрикс24
gate-access-rights = Права и доступ я не меняю: это делает администратор в Битрикс24
gate-must-read = Здесь можно только читать, а { $method } может что-то изменить. Ничего не отправлено
gate-reference = Нельзя подставлять сюда ответ другой команды{ what-is-called }
gate-denied-now = Это только что отклонили, второй раз не предлагаю
gate-withdrawn = Шаг снят, ничего не отправлено

## Отказы из-за одной команды пакета
batch-part = { call-of }{ $title ->
    [none] {""}
   *[other] {" "}«{ $title }»
  }{ $number ->
    [0] {""}
   *[other] {" "}№{ $number }
  }
batch-command = { $part_named ->
    [yes] «{ $part_title }»:{" "}
   *[other] {""}
  }
gate-batch-delete = В пакете есть удаление: { $part }. Удаления пакетом не выполняю
gate-batch-refused = Пакет не выполнен из-за { $part }: { $reason ->
    [gate-already-so] { gate-already-so }
    [gate-bulk-changed] { gate-bulk-changed }
    [gate-bulk-field] { gate-bulk-field }
    [gate-bulk-gone] { gate-bulk-gone }
    [gate-bulk-many] { gate-bulk-many }
    [gate-bulk-method] { gate-bulk-method }
    [gate-bulk-none] { gate-bulk-none }
    [gate-bulk-nothing] { gate-bulk-nothing }
    [gate-bulk-place] { gate-bulk-place }
    [gate-bulk-part] { gate-bulk-part }
    [gate-closed] { gate-closed }
    [gate-handler] { gate-handler }
    [gate-file-path-empty] { gate-file-path-empty }
    [gate-file-path-hidden] { gate-file-path-hidden }
    [gate-file-path-invisible] { gate-file-path-invisible }
    [gate-file-path-long] { gate-file-path-long }
    [gate-file-path-odd] { gate-file-path-odd }
    [gate-file-path-outside] { gate-file-path-outside }
    [gate-kind] { gate-kind }
    [gate-kind-missing] { gate-kind-missing }
    [gate-mongo-collection] { gate-mongo-collection }
    [gate-mongo-operator] { gate-mongo-operator }
    [gate-kind-method] { gate-kind-method }
    [gate-kind-params] { gate-kind-params }
    [gate-schedule-person] { gate-schedule-person }
    [gate-schedule-when] { gate-schedule-when }
    [gate-order-unclear] { gate-order-unclear }
    [gate-order-unwatched] { gate-order-unwatched }
    [gate-http-host] { gate-http-host }
    [gate-kept-file] { gate-kept-file }
    [gate-password] { gate-password }
    [gate-access-rights] { gate-access-rights }
    [gate-mode] { gate-mode }
    [gate-needs-application] { gate-needs-application }
    [gate-needs-application-other] { gate-needs-application-other }
    [gate-not-author] { gate-not-author }
    [gate-not-found] { gate-not-found }
    [gate-not-yours] { gate-not-yours }
    [gate-policy-refuses] { gate-policy-refuses }
    [gate-reference] { gate-reference }
    [gate-rule-refuses] { gate-rule-refuses }
    [gate-named-other-currency] { gate-named-other-currency }
    [gate-sum-currency-unknown] { gate-sum-currency-unknown }
    [gate-sum-other-currency] { gate-sum-other-currency }
    [gate-sum-two-currencies] { gate-sum-two-currencies }
    [gate-target-unclear] { gate-target-unclear }
    [gate-unread] { gate-unread }
    [gate-unscoped] { gate-unscoped }
    [gate-user-inactive] { gate-user-inactive }
    [gate-value-date] { gate-value-date }
    [gate-value-year] { gate-value-year }
    [gate-value-order] { gate-value-order }
    [gate-value-number] { gate-value-number }
    [gate-value-range] { gate-value-range }
    [gate-value-stage] { gate-value-stage }
    [gate-value-choice] { gate-value-choice }
    [gate-value-flag] { gate-value-flag }
    [gate-value-user] { gate-value-user }
    [gate-value-id] { gate-value-id }
    [gate-value-text] { gate-value-text }
    [gate-value-word] { gate-value-word }
    [gate-value-empty] { gate-value-empty }
    [gate-value-single] { gate-value-single }
    [gate-value-several] { gate-value-several }
    [gate-value-currency] { gate-value-currency }
    [gate-value-reminder] { gate-value-reminder }
    [gate-value-color] { gate-value-color }
    [gate-value-digits] { gate-value-digits }
    [gate-value-zone] { gate-value-zone }
    [gate-value-email] { gate-value-email }
    [gate-value-phone] { gate-value-phone }
    [gate-row-discount] { gate-row-discount }
    [gate-row-price] { gate-row-price }
    [gate-move-funnel] { gate-move-funnel }
   *[other] { $text }
  }

## Почему нужно ваше «да»
gate-field = { $field ->
    [OPPORTUNITY] сумма
    [CURRENCY_ID] валюта
    [TAX_VALUE] налог
    [PRICE] цена
    [productName] название товара
    [PRODUCT_NAME] название товара
    [productId] товар
    [PRODUCT_ID] товар
    [price] цена
    [quantity] количество
    [QUANTITY] количество
    [discountTypeId] вид скидки
    [DISCOUNT_TYPE_ID] вид скидки
    [discountRate] скидка
    [DISCOUNT_RATE] скидка
    [discountSum] скидка
    [DISCOUNT_SUM] скидка
    [taxRate] налог
    [TAX_RATE] налог
    [taxIncluded] налог в цене
    [TAX_INCLUDED] налог в цене
    [measureCode] единица
    [MEASURE_CODE] единица
    [measureName] единица
    [MEASURE_NAME] единица
    [IS_MANUAL_OPPORTUNITY] способ расчёта суммы
    [ASSIGNED_BY_ID] ответственный
    [RESPONSIBLE_ID] исполнитель
    [CREATED_BY] постановщик
    [ACCOMPLICES] соисполнители
    [AUDITORS] наблюдатели
    [OBSERVERS] наблюдатели
    [STAGE_ID] стадия
    [STATUS_ID] стадия
    [STATUS] состояние
    [CATEGORY_ID] воронка
    [DEADLINE] срок
    [START_TIME] время начала
    [END_TIME] время окончания
    [CLOSEDATE] дата завершения
    [BEGINDATE] дата начала
    [CLOSED] закрытие
    [COMPLETED] завершение
    [COMPANY_ID] компания
    [CONTACT_ID] контакт
    [CONTACT_IDS] контакты
    [ATTENDEES] участники
    [ROWS] товары
    [COMPANY_IDS] компании
    [PHONE] телефон
    [EMAIL] почта
    [FM] телефон или почта
    [DATE_CREATE] дата создания
    [DATE_MODIFY] дата изменения
    [PROBABILITY] вероятность
    [OPENED] доступ для всех
    [GROUP_ID] рабочая группа
    [ROWS] товары
    [rows] товары
    [PRODUCT_ROWS] товары
    [productRows] товары
    [IS_PRIMARY] место главного в списке
    [ITEMS] привязанные контакты или компании
    [items] привязанные контакты или компании
    [chat_id] чат
    [message_id] сообщение
    [text] текст
    [caption] подпись
    [inline_keyboard] кнопки
    [path] файл
    [collection] раздел базы
    [query] условия запроса
    [document] запись
    [documents] записи
    [update] изменения
   *[other] поле { $field }
  }
gate-critical = { $field ->
    [ACCOMPLICES] Меняются { gate-field }
    [AUDITORS] Меняются { gate-field }
    [CONTACT_IDS] Меняются { gate-field }
    [COMPANY_IDS] Меняются { gate-field }
    [ATTENDEES] Меняются { gate-field }
    [ROWS] Меняются { gate-field }
    [OBSERVERS] Меняются { gate-field }
    [ROWS] Меняются { gate-field }
    [rows] Меняются { gate-field }
    [PRODUCT_ROWS] Меняются { gate-field }
    [productRows] Меняются { gate-field }
    [ITEMS] Меняются { gate-field }
    [items] Меняются { gate-field }
   *[other] Меняется { gate-field }
  }
gate-critical-action = Это действие всегда подтверждает человек
gate-add-sum = Указана { gate-field }
gate-add-person = Назначается другой сотрудник ({ gate-field })
gate-hands-away = { $who } больше не увидит { $many ->
    [yes] эти записи
   *[no] { $entity ->
        [deal] эту сделку
        [lead] этот лид
        [contact] этот контакт
        [company] эту компанию
        [task] эту задачу
        [activity] это дело
       *[other] эту запись
    }
  }: вернуть сможет только руководитель
gate-add-stage = Запись сразу встанет не на первую стадию
gate-order-stands = Будет работать само{ $when ->
    [none] {""}
   *[other] , { $when }
}, пока не выйдет срок или вы не снимете его
gate-schedule-repeats = Будет запускаться само, раз за разом
gate-file-replaces = Прежнее содержимое файла заменится
gate-mongo-many = { $count ->
    [one] Это касается { $count } записи
   *[other] Это касается сразу { $count } записей
  }
gate-class-delete = Это нельзя отменить
gate-class-unlink = Это отвяжет всё сразу
gate-class-config = Это меняет настройки портала
gate-sum-by-rows = Сумму ввели вручную, а теперь её посчитает Битрикс24 по товарам: прежняя сумма пропадёт
gate-class-money = Это меняет деньги
gate-list-passed = Весь список уйдёт коллеге: { $rows } { $rows ->
    [one] строка
    [few] строки
   *[other] строк
  }{ $columns ->
    [none] {""}
   *[other] { " " }({ $columns })
  }. Коллега прочтёт его, даже если прав на эти записи нет
gate-class-outward = Это увидят другие люди
gate-http-outward = Данные уйдут на другой сайт
gate-notifies = Названные здесь люди получат уведомление
gate-hidden-link = За словами в тексте спрятана ссылка
gate-binding = Это меняет, куда уходят события портала
gate-reference-field = Значение возьмётся из ответа другой команды: { gate-field }
gate-reference-id = Какую запись менять, решит ответ другой команды
gate-phone-gone = Уже убрали: { $value } – это изменение выпало
gate-policy-method = Администратор просит подтверждать это действие
gate-policy-person = Администратор просит подтверждать все изменения от { $name }
gate-policy-amount = Сумма { $amount } больше порога { $limit }
gate-four-eyes = Сумма { $amount } больше { $limit }: должен подтвердить и руководитель
gate-rule = { $why }
gate-sum-jump = { $times ->
    [one] Резко меняется { gate-field }: в { $times } раз
    [few] Резко меняется { gate-field }: в { $times } раза
   *[other] Резко меняется { gate-field }: в { $times } раз
  }
gate-sum-steps = { $times ->
    [one] Сумма за сутки меняется в { $times } раз: { $before } → { $after }
    [few] Сумма за сутки меняется в { $times } раза: { $before } → { $after }
   *[other] Сумма за сутки меняется в { $times } раз: { $before } → { $after }
  }
gate-sum-lost = Резко меняется { gate-field }
gate-sum-unnamed = В просьбе названа другая сумма: { $sum } в ней нет
gate-call-partner = Такого контакта у записи нет: «{ $name }». Собеседником запишется «{ $who }»
gate-call-stranger = { $who ->
    [none] Такого клиента у записи нет: №{ $id }
   *[other] Такого клиента у записи нет: «{ $who }»
  }
gate-address-foreign = { $who ->
    [none] У клиента №{ $id } нет такого телефона или почты: { $value }
   *[other] У «{ $who }» нет такого телефона или почты: { $value }
  }
gate-address-nobody = Телефон или почта ни с чьей карточки: { $value }
gate-file-field = Прежний файл заменится. Вернуть его бот сможет, если Битрикс24 сейчас отдаст его (до 10 МБ): { gate-field }
gate-file-lost = Прежний файл заменится, вернуть его бот не сможет: { gate-field }
gate-sum-currency = Меняется валюта суммы: { $before } → { $after }
plan-step-missed = { $why ->
    [waiting] Шаг перед этим ещё не выполнен: { $step }
    [denied] Шаг перед этим отклонён: { $step }
    [expired] Шаг перед этим никто не подтвердил: { $step }
    [unknown] Неизвестно, выполнен ли шаг перед этим: { $step }
    [partly] Шаг перед этим выполнен не полностью: { $step }
    [undone] Шаг перед этим отменён: { $step }
   *[refused] Шаг перед этим не выполнен: { $step }
}
gate-model-asks = Бот не уверен и просит проверить
gate-undo = Отмена возвращает прежние значения
gate-replaces = Заменит то, что записано: { gate-field }
gate-no-addition = Это изменит то, что есть, а не добавит новое
gate-leaves-out = В просьбе названо, а здесь нет: { gate-field }
gate-not-ordered = Прямой просьбы в сообщении нет: проверьте, так ли я понял
reason-told = Понял так из ваших слов
gate-only-asked = Это вопрос, а не поручение: проверьте, нужно ли это
gate-not-plain = Сообщение длинное, или в нём чужой текст: проверьте
gate-more-than-ordered = Проверьте каждое изменение
gate-beside = Вместе с остальным из этого ответа
gate-taint-prose = В этом разговоре бот читал чужой текст: проверьте, что просили именно об этом
gate-taint-target = Бот сам выбрал запись №{ $id }
reason-record-unnamed = Бот сам выбрал запись «{ $title }» №{ $id }
gate-compared = По просьбе: { $fits ->
    [none] {""}
   *[other] { $fits } ✓
}{ $missed ->
    [0] {""}
   *[other] { $fits ->
        [none] {""}
       *[other] {" · "}
    }{ $differs } ✗
}
gate-taint-outside = Значение взято не из ваших слов: { gate-field }
gate-taint-value = Значение взято из текста в CRM: { gate-field }
gate-batch-twice = Одно и то же записано больше одного раза: лишних повторов { $count }
gate-denied-before = Раньше это отклонили: { $by }, { $at }

## Создано без части полей
not-taken = ⚠️ Создано, но Битрикс24 не принял: { gate-field }{ $more ->
    [0] {""}
   *[other] {" "}и ещё { $more }
  }

## Почему спрашивает пакет
gate-batch-asks = { batch-command }{ $reason ->
    [gate-add-person] { gate-add-person }
    [gate-add-stage] { gate-add-stage }
    [gate-add-sum] { gate-add-sum }
    [gate-binding] { gate-binding }
    [gate-bulk] { gate-bulk }
    [gate-bulk-limit] { gate-bulk-limit }
    [gate-bulk-sum] { gate-bulk-sum }
    [gate-class-config] { gate-class-config }
    [gate-class-delete] { gate-class-delete }
    [gate-class-unlink] { gate-class-unlink }
    [gate-sum-by-rows] { gate-sum-by-rows }
    [gate-class-money] { gate-class-money }
    [gate-class-outward] { gate-class-outward }
    [gate-list-passed] { gate-list-passed }
    [gate-http-outward] { gate-http-outward }
    [gate-critical] { gate-critical }
    [gate-critical-action] { gate-critical-action }
    [gate-hands-away] { gate-hands-away }
    [gate-hidden-link] { gate-hidden-link }
    [gate-file-replaces] { gate-file-replaces }
    [gate-schedule-repeats] { gate-schedule-repeats }
    [gate-order-stands] { gate-order-stands }
    [gate-mongo-many] { gate-mongo-many }
    [gate-notifies] { gate-notifies }
    [gate-phone-gone] { gate-phone-gone }
    [gate-policy-method] { gate-policy-method }
    [gate-reference-field] { gate-reference-field }
    [gate-reference-id] { gate-reference-id }
    [gate-rule] { gate-rule }
    [gate-call-partner] { gate-call-partner }
    [gate-call-stranger] { gate-call-stranger }
    [gate-address-foreign] { gate-address-foreign }
    [gate-address-nobody] { gate-address-nobody }
    [gate-file-field] { gate-file-field }
    [gate-file-lost] { gate-file-lost }
    [gate-sum-currency] { gate-sum-currency }
    [gate-sum-jump] { gate-sum-jump }
    [gate-sum-lost] { gate-sum-lost }
    [gate-sum-steps] { gate-sum-steps }
    [gate-sum-unnamed] { gate-sum-unnamed }
    [gate-replaces] { gate-replaces }
    [gate-no-addition] { gate-no-addition }
    [gate-leaves-out] { gate-leaves-out }
    [gate-not-ordered] { gate-not-ordered }
    [gate-only-asked] { gate-only-asked }
    [gate-not-plain] { gate-not-plain }
    [gate-more-than-ordered] { gate-more-than-ordered }
    [gate-beside] { gate-beside }
    [gate-taint-prose] { gate-taint-prose }
    [gate-taint-target] { gate-taint-target }
    [gate-compared] { gate-compared }
    [gate-taint-outside] { gate-taint-outside }
    [gate-taint-value] { gate-taint-value }
   *[other] { $text }
  }
