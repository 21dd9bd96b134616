# The pages of runs in the console.
console-runs = Запуски
console-run = Запуск
console-runs-engine = { $engine }
console-runs-engine-away = Программы, которая это выполняет, здесь нет. Ничего не потеряно: когда её вернут, всё продолжится само.
console-runs-status = { $status ->
    [running] выполняется
    [waiting] ждёт
    [paused] на паузе
    [done] готово
    [failed] не выполнен
    [cancelled] отменён
   *[other] { $status }
  }
console-runs-state = { $state ->
    [done] готово
    [running] выполняется
    [waiting] ждёт
    [failed] ошибка
    [skipped] пропущен
   *[other] { $state }
  }
console-runs-kind = { $kind ->
    [say] Сообщение
    [model] Вопрос модели
    [effect] Действие
    [input] Вопрос человеку
    [turn] Разговор с помощником
    [timer] Ожидание времени
    [run] Вложенный запуск
   *[other] Шаг программы
  }
console-runs-origin = { $origin ->
    [definition] автор сценария
    [person] слова человека
    [label] названия из CRM
    [prose] тексты из CRM, их мог написать кто угодно
    [model] ответ модели
    [document] документы компании
    [web] интернет
    [database] внешняя база данных
   *[other] сама программа
  }
console-runs-role = { $role ->
    [system] Указания
    [user] Вопрос
    [assistant] Ответ модели
    [tool] Ответ инструмента
   *[other] { $role }
  }
console-runs-mode-of = { $mode ->
    [full] обычный
    [shadow] без действий
    [confirm] всё через карточки
    [readonly] только чтение
   *[other] { $mode }
  }
console-runs-streaming = { $status ->
    [Streaming] текст идёт
    [Complete] текст готов
    [Error] текст оборван
   *[other] { $status }
  }
console-runs-record = { $kind ->
    [deal] Сделка
    [lead] Лид
    [contact] Контакт
    [company] Компания
    [activity] Дело
    [task] Задача
   *[other] { $kind }
  } № { $number }
console-runs-filters = Отбор запусков
console-runs-any-engine = Всё
console-runs-any-status = Любое состояние
console-runs-what = Что запущено
console-runs-state-title = Состояние
console-runs-mine = Только мои
console-runs-none = Таких запусков нет.
console-runs-pages = Страницы списка
console-runs-first = ← К началу
console-runs-next = Дальше →
console-runs-start = Запустить
console-runs-start-title = Новый запуск
console-runs-start-what = Что запустить
console-runs-start-choose = Выберите, что запустить.
console-runs-start-text = Текст для сценария, если он нужен
console-runs-start-asks = Значения спросит сам запуск, в чате и здесь.
console-runs-start-record = { $kind ->
    [deal] Номер сделки
    [lead] Номер лида
    [contact] Номер контакта
    [company] Номер компании
    [activity] Номер дела
    [task] Номер задачи
   *[other] Номер записи
  }
console-runs-default = Если оставить пустым: { $value }
console-runs-lines = По одному в строке.
console-runs-json = Объект JSON, например {"{"}"a": 1{"}"}
console-runs-optional = можно не заполнять
console-runs-field = { $problem ->
    [missing] Заполните это поле
    [type] Это значение не подходит
    [choice] Выберите из списка
   *[other] Не подходит
  }
console-runs-version = { $engine } «{ $key }», версия { $number }
console-runs-by = запустил(а) { $name }
console-runs-started = начало { $at }
console-runs-updated = изменение { $at }
console-runs-cost = Стоимость
console-runs-no-price = цены нет в правилах
console-runs-tokens-title = Токены
console-runs-thinking = Модель думала
console-runs-nodes-done = Шагов сделано
console-runs-mode = Режим
console-runs-open-parent = Открыть запуск, который ждёт этот
console-runs-pause = Пауза
console-runs-resume = Продолжить
console-runs-retry = Повторить
console-runs-cancel = Отменить
console-runs-retry-here = Повторить отсюда
console-runs-pause-ask = Поставить на паузу? То, что уже отправлено, будет доделано.
console-runs-resume-ask = Продолжить с того места, где запуск остановлен?
console-runs-retry-ask = Повторить с того шага, который не получился? Сделанное второй раз не делается.
console-runs-cancel-ask = Отменить запуск? Его карточки и вопросы закроются, продолжить его будет нельзя.
console-runs-done = Сделано.
console-runs-stored = Принято, скоро будет сделано.
console-runs-answered = Ответ принят.
console-runs-not-yours = Это может только тот, кто запустил, руководитель или администратор.
console-runs-went-on = С тех пор запуск уже повторяли, и он остановился снова: посмотрите, почему, и решите ещё раз.
console-runs-left = { $made ->
    [0] Изменения не сделаны
   *[other] Сделано изменений: { $made }, не сделано: { $left }
}
console-runs-failed = Запуск остановился из-за ошибки.
console-runs-failed-step = Шаг «{ $step }» не выполнен.
console-runs-late = Поздно: запуск уже в другом состоянии.
console-runs-question-closed = На этот вопрос уже ответили, или он больше не нужен.
console-runs-not-your-question = Этот вопрос задан другому человеку.
console-runs-is-paused = Запуск на паузе. Чтобы ответить, сначала продолжите его.
console-runs-answer-unfit = Такой ответ не подходит: выберите кнопку или напишите текст до 4000 знаков.
console-runs-no-definition = Этого больше нельзя запустить: нет опубликованной версии.
console-runs-not-allowed = Вам этого запускать нельзя.
console-runs-not-from-here = Автор не разрешил запускать это людям.
console-runs-definition-off = Это сейчас выключено.
console-runs-definition-damaged = Текст повреждён: опубликуйте его заново.
console-runs-refused = Не получилось: { $why }
console-runs-waits = Чего ждёт
console-runs-waits-card = Ждёт решения по карточке.
console-runs-open-card = Открыть карточку
console-runs-waits-timer = Продолжит { $at }.
console-runs-waits-other = Ждёт, пока закончится другой запуск.
console-runs-open-other = Открыть тот запуск
console-runs-waits-answer = Ждёт ответа.
console-runs-waits-of = Ответа ждут от: { $names }
console-runs-waits-until = Ответ ждут до { $at }.
console-runs-answer = Ваш ответ
console-runs-send = Ответить
console-runs-answer-telegram = Файл, фото или контакт пришлите в чат Telegram.
console-runs-graph = Ход работы
console-runs-steps = Шаги
console-runs-whole = Запуск в целом
console-runs-nodes = Подробности шага
console-runs-choose-step = Выберите шаг на рисунке или в списке.
console-runs-no-nodes = Этот шаг ещё ничего не делал или не оставляет записей.
console-runs-no-words = Тексты этого запуска видят тот, кто его запустил, и администратор.
console-runs-left-out = Ещё { $count } более ранних здесь не показаны.
console-runs-use = { $tokens ->
    [one] { $tokens } токен
    [few] { $tokens } токена
   *[other] { $tokens } токенов
  }{ $spent ->
    [none] {""}
   *[other] {", "}{ $spent }
  }
console-runs-attempt = попытка { $number }
console-runs-taint = Откуда значения
console-runs-error = Ошибка
console-runs-used = Израсходовано
console-runs-tokens = прочитано { $read }, написано { $written } токенов
console-runs-prompt = Что получила модель, сообщений: { $count }
console-runs-no-inputs = С чем начат этот шаг, восстановить нельзя.
console-runs-call = Что предложено
console-runs-answer-of = Ответ модели
console-runs-output = Результат
console-runs-load = Загрузить большое значение
console-runs-shown = Показывает
console-runs-incomplete = показ неполный
console-runs-request = запрос { $id }
console-runs-draft = Модель пишет
console-runs-failure = Последняя ошибка
console-runs-result = Итог
console-runs-data = Все данные итога
console-runs-way = { $way ->
    [else] иначе
    [if] если
    [default] в остальных случаях
    [refused] отказ
    [invalid] не тот ответ
    [timeout] нет ответа
    [onFailure] при ошибке
    [onFailure-fail] при ошибке, потом сбой
   *[other] { $way }
  }
console-runs-only = Только «{ $key }»
console-editor-never-run = Этого ещё не запускали — или запуски видны не вам.
console-editor-last-run = Последний запуск: { $at }, версия { $number }
console-editor-not-reached = До этого шага последний запуск не дошёл.
console-editor-run = Последний запуск
