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
console-form-add = { $name ->
    [launchParameters] Добавить параметр
    [sharedChannels] Добавить канал
    [memoryReads] Читать ещё канал
    [memoryWrites] Писать ещё в канал
    [titles] Добавить название
    [steps] Добавить шаг
    [tuums] Добавить часть
    [promptRunes] Добавить руну промпта
    [runes] Добавить руну
    [triggerParameters] Добавить параметр
   *[other] Добавить
  }
console-form-nothing = { $name ->
    [next] Поток заканчивается
    [startStepId] Первый в списке
    [next_step] Следующий по списку
    [if] Следующий по списку
    [else] Следующий по списку
    [on_invalid] Сценарий прерывается
    [on_timeout] Следующий по списку
    [on_refused] Сценарий прерывается
    [record] Ни с какой
   *[other] Как обычно
  }
console-form-key = { $place ->
    [Tuum-inputMappings] Имя здесь
    [tuum-inputMappings] Имя здесь
    [TuumReference-inputMappings] Имя здесь
    [Tuum-outputMappings] Общее имя
    [tuum-outputMappings] Общее имя
    [TuumReference-outputMappings] Общее имя
    [Tuum-variableTypes] Переменная
    [tuum-variableTypes] Переменная
    [input-next_step_map] Ответ
    [execute_sub_scenario-output_mapping] Его переменная
    [run_flow-output_mapping] Поле результата
    [run_workflow-output_mapping] Поле результата
    [calculate-values] Переменная
    [update_context-updates] Переменная
    [scenario-initial_context] Переменная
    [execute_sub_scenario-input_parameters] Его переменная
    [schedule_scenario_run-context_to_pass] Его переменная
   *[other] Имя
  }
console-form-value-of = { $place ->
    [Tuum-inputMappings] Общее имя
    [tuum-inputMappings] Общее имя
    [TuumReference-inputMappings] Общее имя
    [Tuum-outputMappings] Имя здесь
    [tuum-outputMappings] Имя здесь
    [TuumReference-outputMappings] Имя здесь
    [Tuum-variableTypes] Тип
    [tuum-variableTypes] Тип
    [input-next_step_map] Ключ шага
    [execute_sub_scenario-output_mapping] Переменная здесь
    [run_flow-output_mapping] Переменная здесь
    [run_workflow-output_mapping] Переменная здесь
    [calculate-values] Выражение
   *[other] Значение
  }
console-form-row-add = Добавить строку
console-form-row-remove = Удалить строку
console-form-row-twice = Имя «{ $name }» уже есть
console-form-row-nameless = У строки нет имени
console-form-insert = Вставить переменную
