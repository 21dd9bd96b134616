# Названия и пояснения полей сценариев, агентов и процессов в форме консоли.
console-form-own-name = { $place ->
    [flow-flowId] Ключ потока
    [FlowStep-id] Ключ шага
    [FlowStep-name] Название
    [FlowStep-prompt] Задание
    [SuccessRoute-next] После ответа
    [FailureRoute-next] После неудачи
    [SharedChannel-id] Ключ канала
    [MemoryRead-limit] Последних записей
    [Title-name] Имя поля
    [Title-title] Как его называть
    [Defaults-context] Что знают все агенты
    [MemoryWrite-mode] Что записать
    [scenario-name] Название
    [scenario-description] Для чего сценарий
    [Step-type] Что делает шаг
    [Step-id] Ключ шага
    [input-type] Какой ответ нужен
    [input-prompt] Вопрос
    [llm_request-prompt] Задание модели
    [llm_request-output] Что нужно от модели
    [llm_request-required] Что обязано быть в данных
    [json-required] Что обязано быть в данных
    [message-text] Текст сообщения
    [telegram_send_message-text] Текст сообщения
    [Button-text] Надпись
    [InlineButton-text] Надпись
    [Button-value] Значение
    [LaunchParameter-name] Имя
    [LaunchParameter-description] Вопрос человеку
    [LaunchParameter-choices] Варианты
    [rag_search-query] Вопрос к документам
    [query-method] Метод чтения CRM
    [agent-description] Что умеет
    [json-path] Какая часть
    [json-default] Если такой части нет
    [script-source] Скрипт
    [Script-source] Скрипт
    [TuumReference-id] Ключ здесь
    [run_flow-context] Что знают все агенты
    [terminal-rawText] Переменная с текстом результата
    [terminal-operations] Переменная с операциями
    [Options-maxTokens] Токенов в ответе, не больше
    [Budget-maxTokens] Токенов, не больше
    [wait-seconds] Сколько секунд ждать
    [log_message-message] Строка журнала
    [text-input] Где искать (переменная)
    [json-input] Где искать (переменная)
    [regex-input] Где искать (переменная)
   *[other] { "" }
  }
console-form-name = { $name ->
    [flowId] Ключ потока
    [syncOnly] Ответ целиком, без показа по мере появления
    [memory] Память
    [defaults] Общее для всех шагов
    [overrides] Настройки модели
    [launchParameters] Параметры запуска
    [startStepId] Первый шаг
    [outputs] Итог
    [summaryFields] Поля сводки, по одному в строке
    [resultPayload] Результат
    [titles] Названия полей результата
    [sharedChannels] Каналы памяти
    [retentionVersions] Сколько записей хранить
    [retentionDays] Сколько дней хранить
    [scope] Чья память
    [agentVersionId] Агент
    [memoryReads] Читает из памяти
    [memoryWrites] Пишет в память
    [transitions] Куда дальше
    [maxAttempts] Попыток
    [channel] Канал
    [mode] Что записать
    [payload] Постоянная запись
    [onSuccess] После ответа
    [next] Следующий шаг
    [complete] Завершить поток после ответа
    [fail] Неудача прерывает поток
    [name] Название
    [description] Описание
    [version] Версия
    [customers] Могут запускать клиенты
    [show_progress] Показывать, сколько пройдено
    [allow_back] Кнопка «Назад»
    [allow_cancel] Кнопка «Отменить»
    [initial_context] Начальные переменные
    [steps] Шаги
    [type] Тип
    [action_type] Действие
    [id] Ключ
    [params] Параметры
    [next_step] Следующий шаг
    [condition] Условие
    [branches] Ветви (JSON)
    [if] Если да
    [else] Если нет
    [seconds] Секунд
    [updates] Новые значения
    [values] Выражения
    [message] Сообщение
    [level] Уровень
    [sub_scenario_id] Ключ сценария
    [input_parameters] Переменные для него
    [output_mapping] Что взять из результата
    [flow_id] Ключ потока
    [parameters] Параметры запуска
    [output_var] Переменная для результата
    [workflow_id] Ключ процесса
    [text] Текст
    [prompt] Текст
    [input_variable] Переменная для ответа
    [buttons] Кнопки
    [only_buttons] Только кнопки
    [choices] Допустимые ответы, по одному в строке
    [regex] Образец ответа
    [min_length] Знаков, не меньше
    [max_length] Знаков, не больше
    [earliest] Не раньше
    [latest] Не позже
    [minimum] Число, не меньше
    [maximum] Число, не больше
    [retry_text] Что сказать, если ответ не подошёл
    [tries] Сколько раз спросить
    [on_invalid] Если ответы не подошли
    [timeout] Ждать ответа, секунд
    [on_timeout] Если ответа не дождались
    [next_step_map] Шаги по ответам
    [value] Значение
    [messages] Сообщения
    [system_prompt] Роль модели
    [model] Модель
    [temperature] Свобода ответа, 0–2
    [max_tokens] Токенов в ответе, не больше
    [query] Какие записи
    [collection_name] Коллекция
    [top_k] Сколько отрывков
    [question] Вопрос
    [on_refused] Если отказали
    [method] Метод Битрикс24
    [comment] Пояснение на карточке
    [confirm] Всегда спрашивать человека
    [scenario_id] Ключ сценария
    [run_in_seconds] Через сколько секунд
    [at] Когда
    [cron] Расписание
    [zone] Часовой пояс
    [context_to_pass] Переменные для него
    [note] Заметка
    [task_id_output_var] Переменная для номера расписания
    [sort] Порядок
    [fields] Поля
    [limit] Записей, не больше
    [document] Документ
    [documents] Документы
    [update_data] Что изменить
    [chat_id] Чат
    [inline_keyboard] Кнопки под сообщением
    [callback_data] Что получит переменная
    [url] Адрес
    [path] Файл
    [file] Переменная с файлом
    [caption] Подпись
    [workflowId] Ключ
    [configId] Свой номер
    [metadata] Название и описание
    [kind] Вид
    [record] С какой записью CRM работает
    [triggers] Откуда запускают
    [triggerParameters] Параметры запуска
    [tuums] Части процесса
    [terminal] Что станет результатом
    [scheduling] Порядок запуска
    [onFailure] После неудачи
    [budget] Ограничения одного запуска
    [maxSteps] Шагов, не больше
    [maxTokens] Токенов, не больше
    [maxCost] Денег, не больше
    [maxSeconds] Секунд, не больше
    [required] Обязателен
    [default] Значение по умолчанию
    [title] Название
    [tags] Метки, по одной в строке
    [topP] Доля вероятных слов, 0–1
    [runeType] Что делает руна
    [enabled] Включено
    [source] Текст
    [consumes] Читает переменные
    [produces] Даёт переменные
    [rawText] Переменная с текстом
    [operations] Переменная с операциями
    [ui] Запускают люди: в чатах и на страницах
    [api] Запускают программы: по HTTP
    [tuumId] Ключ части
    [inputMappings] Входы
    [outputMappings] Выходы
    [mayPropose] Что может предлагать
    [variableTypes] Типы переменных
    [promptRunes] Руны промпта
    [aiService] Модель
    [isStreaming] Показывать ответ по мере появления
    [blocks] Кто открывает блоки
    [options] Настройки модели
    [chunkCallback] Скрипт на каждый кусок ответа
    [runes] Руны после ответа
    [mainScript] Последний скрипт
    [tuum] Готовая часть
    [role] Чей это текст
    [template] Текст
    [output] Переменная для результата
    [variable] Переменная
    [input] Переменная с текстом
    [after] После какого знака
    [before] До какого знака
    [pattern] Образец
    [group] Группа
    [isAll] Все совпадения
    [operationType] Что сделать
    [entityType] С какой записью
    [entityId] Номер записи
    [initialAttributes] Поля новой записи
    [attributeKey] Поле
    [modifyOperator] Как изменить
    [modifyValue] На что или на сколько
    [content] Что показать
    [updateMode] Заменить или дополнить
    [incrementalType] Вид дополнения
    [systemPrompt] Роль и правила агента
    [defaultOptions] Настройки модели
    [tools] Инструменты, по одному в строке
    [effects] Методы изменений, по одному в строке
   *[other] { $plain }
  }
console-form-hint = { $place ->
    [flow-flowId] Латиницей; под ним поток хранится и запускается.
    [Defaults-context] Факты, которые видит каждый агент.
    [Outputs-resultPayload] Значения вида $steps.review.output.content заменяются ответами шагов.
    [Outputs-summaryFields] Пути вида steps.review.output.content.
    [SuccessRoute-complete] Важнее, чем выбранный следующий шаг.
    [FailureRoute-fail] Если выбран шаг после неудачи, он всё равно выполнится.
    [FlowStep-maxAttempts] Вместе с первой.
    [MemoryWrite-payload] Для постоянной записи: текст или JSON.
    [LaunchParameter-default] Текст или JSON.
    [scenario-version] Свой номер, например 1.0.
    [scenario-customers] Через ключ HTTP API, который говорит за клиента.
    [scenario-initial_context] Что известно до первого шага.
    [Step-id] По нему другие шаги находят этот.
    [Step-condition] Например: percent > 10.
    [wait-seconds] Ожидание переживает перезапуск.
    [update_context-updates] Имя переменной и значение; a.b меняет часть объекта.
    [calculate-values] Имя переменной и выражение, например due: add_days(today, 7).
    [log_message-level] DEBUG, INFO, WARNING, ERROR или CRITICAL.
    [execute_sub_scenario-output_mapping] Без этого берутся все переменные.
    [run_flow-parameters] Без них поток спросит человека.
    [run_workflow-parameters] Без них процесс спросит человека.
    [run_flow-output_mapping] Поле результата и имя переменной.
    [run_workflow-output_mapping] Поле результата и имя переменной.
    [input-buttons] По одной в строке; с отдельными значениями — JSON-список.
    [input-choices] Большие и маленькие буквы не различаются.
    [input-regex] Регулярное выражение для всего ответа.
    [input-retry_text] Вместо обычной фразы программы.
    [input-next_step_map] Ответ и ключ шага; default — для остальных.
    [llm_request-model] Имя модели из настроек.
    [llm_request-output] text — текст как есть, json — данные из ответа.
    [llm_request-required] Например client.name.
    [json-required] Например client.name.
    [llm_request-messages] Список из role и content вместо задания.
    [bitrix_call-method] Например crm.deal.update.
    [bitrix_call-params] Тексты могут содержать {"{"}переменную{"}"}.
    [bitrix_call-comment] Зачем это нужно, словами для человека.
    [schedule_scenario_run-at] Один раз, например 2026-11-30T09:00.
    [schedule_scenario_run-cron] Снова и снова, например 0 9 * * 1; спросим человека.
    [schedule_scenario_run-zone] Без него — пояс человека.
    [telegram_send_message-chat_id] Номер чата или ключ человека; без него — чат сценария.
    [telegram_send_photo-path] В папке файлов.
    [telegram_send_document-path] В папке файлов.
    [workflow-workflowId] Латиницей; под ним процесс хранится и запускается.
    [workflow-record] Процесс запускают на этой записи; её номер — в переменной с тем же именем.
    [workflow-kind] Основной оставляет блок в записи, малый только показывает.
    [Tuum-inputMappings] Своё имя: общее имя. Без них имена те же.
    [Tuum-outputMappings] Общее имя: своё имя.
    [tuum-inputMappings] Своё имя: общее имя. Без них имена те же.
    [tuum-outputMappings] Общее имя: своё имя.
    [Tuum-mayPropose] Например ModifyEntity deal. Без этого скрипты могут предложить любое, и публикует второй человек.
    [tuum-mayPropose] Например ModifyEntity deal. Без этого скрипты могут предложить любое, и публикует второй человек.
    [Tuum-blocks] Блоки открывают шаблоны и скрипты; model — ещё и ответ модели, если она не читала чужого.
    [tuum-blocks] Блоки открывают шаблоны и скрипты; model — ещё и ответ модели, если она не читала чужого.
    [Tuum-aiService] Без неё работают только скрипты и руны.
    [tuum-aiService] Без неё работают только скрипты и руны.
    [prompt-template] Переменные пишут так: {"{{"}имя{"}}"}.
    [set-value] JSON; тексты могут содержать {"{{"}переменные{"}}"}.
    [text-after] Без этого — с начала.
    [text-before] Без этого — до конца.
    [json-path] Например items[0].title; без этого всё.
    [regex-pattern] Как понимает модуль re языка Python.
    [regex-group] Номер или имя группы.
    [query-method] Например crm.deal.list.
    [TuumReference-tuum] Ключ части, ключ@версия или номер версии.
    [agent-systemPrompt] Что агент знает о своей роли.
    [agent-model] Имя модели из настроек; без него — модель роли tool.
    [agent-tools] Методы чтения вроде crm.deal.list, rag_search (документы), calculate.
    [agent-effects] Вроде crm.deal.update; о каждом решает человек.
   *[other] { "" }
  }
console-form-value = { $place ->
    [mode-STATIC] Постоянную запись
    [mode-AGENT_OUTPUT] Ответ агента
    [scope-user] Человека: её видят следующие запуски
    [scope-run] Запуска: кончается вместе с ним
    [type-start] Начало
    [type-end] Конец сценария
    [type-branch] Развилка по условию
    [type-wait] Пауза
    [type-update_context] Задать переменные
    [type-calculate] Посчитать
    [type-log_message] Записать в журнал
    [type-execute_sub_scenario] Выполнить другой сценарий
    [type-run_flow] Запустить поток агентов
    [type-run_workflow] Запустить процесс
    [type-message] Сказать в чате
    [type-input] Спросить человека
    [type-llm_request] Спросить модель
    [type-rag_search] Найти в документах
    [type-tool_agent] Спросить помощника с инструментами
    [type-bitrix_call] Вызвать метод Битрикс24
    [type-schedule_scenario_run] Запланировать сценарий
    [type-mongo_find_one] Mongo: прочитать один документ
    [type-mongo_find_many] Mongo: прочитать документы
    [type-mongo_count] Mongo: посчитать документы
    [type-mongo_insert_one] Mongo: добавить документ
    [type-mongo_insert_many] Mongo: добавить документы
    [type-mongo_update_one] Mongo: изменить один документ
    [type-mongo_update_many] Mongo: изменить документы
    [type-mongo_delete_one] Mongo: удалить один документ
    [type-mongo_delete_many] Mongo: удалить документы
    [type-telegram_send_message] Написать в чат Телеграма
    [type-telegram_send_photo] Отправить фото в чат Телеграма
    [type-telegram_send_document] Отправить файл в чат Телеграма
    [type-action] Действие
    [type-text] Текст
    [type-number] Число
    [type-integer] Целое число
    [type-money] Сумма
    [type-date] День
    [type-datetime] День и время
    [type-phone] Телефон
    [type-email] Почта
    [type-contact] Контакт
    [type-photo] Фото
    [type-document] Файл
    [type-string] Текст
    [type-boolean] Да или нет
    [type-object] Объект (JSON)
    [type-array] Список (JSON)
    [runeType-prompt] Добавить текст в промпт
    [runeType-ai] Спросить модель
    [runeType-script] Выполнить скрипт
    [runeType-set] Задать переменную
    [runeType-text] Взять часть текста
    [runeType-json] Взять JSON из текста
    [runeType-regex] Найти по образцу
    [runeType-query] Прочитать из CRM
    [runeType-operation] Предложить изменение
    [runeType-display] Показать по ходу дела
    [runeType-terminal] Отдать в результат
    [role-System] Правила для модели
    [role-User] Вопрос человека
    [role-Assistant] Ответ модели
    [kind-main] Основной
    [kind-micro] Малый
    [record-deal] Сделка
    [record-lead] Лид
    [record-contact] Контакт
    [record-company] Компания
    [scheduling-ready] Как только готовы входы
    [scheduling-batch] Партиями
    [onFailure-stop] Ничего нового не начинать
    [onFailure-finish] Закончить независимое
    [operationType-CreateEntity] Создать
    [operationType-ModifyEntity] Изменить
    [operationType-DeleteEntity] Удалить
    [entityType-deal] Сделка
    [entityType-lead] Лид
    [entityType-contact] Контакт
    [entityType-company] Компания
    [entityType-activity] Дело
    [entityType-task] Задача
    [blocks-program] Шаблоны и скрипты
    [blocks-model] И ответ модели
    [updateMode-FullSnapshot] Заменить
    [updateMode-Incremental] Дополнить
   *[other] { $value }
  }
