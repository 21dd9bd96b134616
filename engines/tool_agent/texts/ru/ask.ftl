# The tool agent of seed 001: the sentences of the seed stand word for word.
ask-bye = До свидания!
ask-help =
    Я отвечаю на вопросы с помощью инструментов:
    { $tools }
    Напишите вопрос обычными словами. Выход — /exit, справка — /help, начать разговор заново — /clear.
ask-help-chat =
    Я отвечаю на вопросы с помощью инструментов:
    { $tools }
    Напишите вопрос обычными словами после /ask.
ask-cleared = История очищена.
ask-interrupted = Остановлено.
ask-classifying = Анализирую релевантность запроса..
ask-llm-error = Ошибка при запросе LLM, завершаюсь..
ask-parse-error = Ошибка при разборе ответа LLM, завершаюсь..
ask-irrelevant = Запрос не связан с функционалом агента.
ask-relevant = Запрос релевантен, думаю..
ask-selecting = Выбираю подходящий инструмент..
ask-not-selected = Не удалось определить инструмент. Просьба переформулировать запрос.
ask-selected = Выбран инструмент { $tool } с параметрами { $params }
ask-validating = Валидирую инструмент..
ask-unclear = Не совсем понял вопрос. Просьба переформулировать.
ask-unknown-tool = Не удалось провалидировать запрос. Просьба переформулировать.
ask-executing = Выполняю инструмент..

# Documents
ask-rag-search-line = отвечаю по документам компании
ask-rag-search-long = Вопрос слишком длинный. Просьба сформулировать более кратко.
ask-rag-search-ready = Инструмент rag_search проверен и готов к вызову. Запрос: { $question }
ask-rag-search-failed = Произошла чудовищная ошибка при запросе на RAG сервис.. Тысяча извинений! Попробуем снова?
ask-rag-search-answer = Ответ RAG: { $answer }
ask-rag-search-titles = Заголовки топ-{ $top_k } документов: { $titles }

# Haiku
ask-generate-haiku-line = пишу хайку на любую тему
ask-generate-haiku-long = Тема слишком длинная. Просьба сформулировать более кратко.
ask-generate-haiku-ready = Инструмент generate_haiku проверен и готов к вызову. Тема: { $theme }
ask-generate-haiku-failed = Произошла чудовищная ошибка при генерации хайку.. Тысяча извинений! Попробуем снова?
ask-generate-haiku-text = Хайку: { $haiku }
ask-generate-haiku-syllables = #слогов построчно: { $counts }
ask-generate-haiku-words = #слов итого: { $total }

# The CRM
ask-find-in-crm-line = нахожу сделки, лиды, контакты и компании по названию
ask-find-in-crm-long = Название слишком длинное. Просьба сформулировать более кратко.
ask-find-in-crm-ready = Инструмент find_in_crm проверен и готов к вызову. Название: { $name }
ask-find-in-crm-found = Найдено в CRM: { $titles }
ask-find-in-crm-none = В CRM ничего не нашлось по названию «{ $name }».
ask-find-in-crm-no-portal = Портал Битрикс24 не подключён.
ask-find-in-crm-failed = Не удалось прочитать CRM. Попробуем снова?
ask-find-in-crm-shadow = В теневом режиме CRM не читается.
ask-find-in-crm-waits = Чтение CRM ждёт решения человека.

# Calculations
ask-calculate-line = считаю суммы и проценты
ask-calculate-long = Выражение слишком длинное. Просьба сформулировать более кратко.
ask-calculate-ready = Инструмент calculate проверен и готов к вызову. Выражение: { $expression }
ask-calculate-result = { $expression } = { $result }
ask-calculate-failed = Не получилось посчитать. Просьба написать выражение числами и знаками.
