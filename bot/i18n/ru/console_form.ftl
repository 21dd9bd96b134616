# Форма определения в консоли.
console-form-comma = Непонятно, что значит запятая: напишите { $whole } или { $part }
console-form-number = Нужно число, например 0,4
console-form-integer = Нужно целое число
console-form-least = Не меньше { $least }
console-form-most = Не больше { $most }
console-form-boolean = Нужно «да» или «нет»
console-form-at = Строка { $line }, знак { $column }: { $said }
console-form-none = Для этого вида формы нет: правьте текст.
console-form-unreadable = Форма ждёт: текст сейчас не читается, первая ошибка в строке { $line }. Исправьте её, и форма вернётся.
console-form-no-object = Форма ждёт: текст — не описание с полями, а что-то другое.
console-form-followed = Имя поменялось и там, где на него ссылались: { $count }
console-form-removed = Удалено: { $title }
console-form-removed-used = Удалено: { $title }. На это ещё ссылаются: { $users }
console-form-return = Вернуть
console-form-gone = Это место определения уже изменилось, поэтому правка не записана. Проверьте и повторите.
console-form-comments = В тексте есть комментарии
console-form-go-on = Продолжить без комментариев
console-form-required = { $label } *
console-form-usual = Если не задать: { $value }
console-form-usual-choice = { $value } (как обычно)
console-form-open = Как обычно
console-form-yes = Да
console-form-no = Нет
console-form-up = Поднять
console-form-down = Опустить
console-form-remove = Удалить
console-form-nameless = Без названия
console-form-more = Дополнительно
console-form-unknown = { $value } (такого нет)
console-form-agent = { $title } · { $key } · версия { $version }
console-form-agent-prompt = Если пусто, агент следует своему: «{ $prompt }»
console-form-agent-options = У агента: { $options }
console-form-option = { $name ->
    [temperature] свобода { $value }
    [topP] доля слов { $value }
    [maxTokens] до { $value } токенов
   *[other] { $name } { $value }
  }
console-form-section = { $section ->
    [start] Запуск
    [shared] Общее для всех шагов
    [budget] Ограничения одного запуска
    [memory] Память
    [result] Итог
    [where] Куда дальше
   *[other] Дополнительно
  }
console-form-flow = { $field ->
    [flow-flow-id] Ключ потока
    [flow-title] Название
    [flow-description] Описание
    [flow-tags] Метки, по одной в строке
    [flow-start-step] Первый шаг
    [flow-ui] Запускают люди: в чатах и на страницах
    [flow-api] Запускают программы: по HTTP
    [flow-parameters] Параметры запуска
    [flow-steps] Шаги
    [flow-channels] Каналы памяти
    [flow-context] Что знают все агенты (JSON)
    [flow-temperature] Свобода ответа, 0–2
    [flow-top-p] Доля вероятных слов, 0–1
    [flow-max-tokens] Токенов в ответе, не больше
    [flow-most-steps] Шагов, не больше
    [flow-most-tokens] Токенов, не больше
    [flow-most-cost] Денег, не больше
    [flow-most-seconds] Секунд, не больше
    [flow-result] Результат (JSON)
    [flow-summary] Поля сводки, по одному в строке
    [flow-titles] Названия полей результата
    [step-id] Ключ шага
    [step-name] Название
    [step-agent] Агент
    [step-prompt] Задание
    [step-next] После ответа
    [step-complete] Завершить поток после ответа
    [step-next-after-failure] После неудачи
    [step-fail] Неудача прерывает поток
    [step-attempts] Попыток
    [step-reads] Читает из памяти
    [step-writes] Пишет в память
    [step-temperature] Свобода ответа, 0–2
    [step-top-p] Доля вероятных слов, 0–1
    [step-max-tokens] Токенов в ответе, не больше
    [step-transitions] Переходы целиком (JSON)
    [parameter-name] Имя
    [parameter-type] Тип
    [parameter-required] Обязателен
    [parameter-description] Вопрос человеку
    [parameter-default] Значение по умолчанию
    [parameter-choices] Варианты (JSON-список)
    [channel-id] Ключ канала
    [channel-versions] Сколько записей хранить
    [channel-days] Сколько дней хранить
    [channel-scope] Чья память
    [read-channel] Канал
    [read-limit] Последних записей
    [write-channel] Канал
    [write-mode] Что записать
    [write-payload] Постоянная запись (JSON)
    [title-name] Имя поля
    [title-title] Как его называть
   *[other] { $field }
  }
console-form-flow-hint = { $field ->
    [flow-flow-id] Латиницей; под ним поток хранится и запускается.
    [flow-context] Факты, которые видит каждый агент.
    [flow-result] Тексты вида $steps.review.output.content заменяются ответами шагов.
    [flow-summary] Пути вида steps.review.output.content.
    [step-complete] Важнее, чем выбранный следующий шаг.
    [step-fail] Если выбран шаг после неудачи, он всё равно выполнится.
    [step-attempts] Вместе с первой.
    [step-transitions] То же, что выше, одним полем.
    [write-payload] Для постоянной записи.
    [parameter-default] Текст или JSON.
   *[other] { "" }
  }
console-form-flow-nothing = { $field ->
    [start-step] Первый в списке
    [next] Конец потока
    [next-after-failure] Нет шага: поток заканчивается
   *[other] Как обычно
  }
console-form-flow-add = { $what ->
    [step] Добавить шаг
    [parameter] Добавить параметр
    [channel] Добавить канал
    [read] Читать ещё канал
    [write] Писать ещё в канал
   *[other] Добавить название
  }
console-form-flow-choice = { $offer ->
    [types] { $value ->
        [string] Текст
        [number] Число
        [boolean] Да или нет
        [object] Объект (JSON)
       *[other] Список (JSON)
      }
    [modes] { $value ->
        [STATIC] Постоянную запись
       *[other] Ответ агента
      }
   *[other] { $value ->
        [user] Человека: её видят следующие запуски
       *[other] Запуска: кончается вместе с ним
      }
  }
console-form-add = { $name ->
    [steps] Добавить шаг
    [tuums] Добавить часть
    [promptRunes] Добавить руну промпта
    [runes] Добавить руну
    [triggerParameters] Добавить параметр
   *[other] Добавить
  }
console-form-nothing = { $name ->
    [next_step] Следующий по списку
    [if] Следующий по списку
    [else] Следующий по списку
    [on_invalid] Сценарий прерывается
    [on_timeout] Следующий по списку
    [on_refused] Сценарий прерывается
    [record] Ни с какой
   *[other] Как обычно
  }
