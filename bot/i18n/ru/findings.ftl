# Ошибки в сценариях, процессах и скриптах: что не так и как исправить. Место (строка, столбец, путь) и подсказка показываются рядом.
finding-more = Показаны первые { $most } ошибок: исправьте сначала их.
finding-document-empty = Документ пуст.
finding-document-large = В документе { $size } байт, а читается не больше { $most }.
finding-document-encoding = Текст не в кодировке UTF-8: сохраните файл в UTF-8.
finding-document-deep = Вложенность глубже { $most } уровней.
finding-document-wide = В документе больше { $most } значений.
finding-text-after-end = После конца документа есть ещё текст.
finding-duplicate-key = Ключ «{ $key }» повторяется, первый раз он в строке { NUMBER($first, useGrouping: 0) }.
finding-number-large = Число { $number } слишком большое, чтобы сохраниться точно: возьмите его в кавычки.
finding-number-not-finite = { $number } — не число, сохранить его нельзя.
finding-number-form = { $number } записано не как число.
finding-zero-character = В тексте не может быть нулевого символа.
finding-lone-surrogate = В тексте половина символа ({ $sign }): напишите сам символ.
finding-control-character = Символ { $sign } здесь нужно записать через обратную косую черту.
finding-bad-escape = Записи { $sign } нет; сама обратная косая черта пишется дважды.
finding-text-unclosed = У текста, который начинается здесь, нет закрывающей кавычки в той же строке.
finding-comment-unclosed = Комментарий, который начинается здесь, не закрыт.
finding-comment-form = Комментарий начинается с //.
finding-quotes-form = Текст пишется в прямых двойных кавычках.
finding-key-unquoted = Ключ { $key } нужно взять в кавычки.
finding-key-missing = Здесь не хватает ключа в кавычках.
finding-colon-missing = После ключа «{ $key }» нет двоеточия.
finding-colon-form = После ключа «{ $key }» нужно двоеточие, а не знак равенства.
finding-value-missing = У ключа «{ $key }» нет значения.
finding-comma-missing = Перед этим местом не хватает запятой.
finding-comma-extra = Здесь лишняя запятая.
finding-word-unknown = { $word } — не значение JSON: текст берут в кавычки.
finding-character-unexpected = Здесь не может стоять { $sign }.
finding-bracket-unclosed = Скобка { $sign }, открытая здесь, не закрыта.
finding-bracket-extra = Скобка { $sign } ничего не закрывает.
finding-bracket-other = Скобка { $sign } не подходит к { $open } в строке { NUMBER($first, useGrouping: 0) }.
finding-yaml-syntax = Здесь не читается YAML: { $problem }.
finding-yaml-colon = Второе двоеточие в строке: возьмите текст после первого в кавычки.
finding-yaml-colon-missing = Ключ без двоеточия и значения.
finding-yaml-character = Значение не может начинаться с { $sign }: возьмите его в кавычки.
finding-yaml-tab = Табуляция в отступе: нужны пробелы.
finding-yaml-indent = Отступ не подходит к строкам выше, или не закрыта кавычка.
finding-yaml-flow = Не хватает запятой или закрывающей скобки.
finding-yaml-quote = У текста нет закрывающей кавычки.
finding-yaml-tag = Тег { $sign } не поддерживается: если это текст, возьмите его в кавычки.
finding-yaml-alias = Якоря и ссылки ({ $sign }) не поддерживаются: повторите значение целиком.
finding-yaml-merge = Слияние << не поддерживается: напишите ключи целиком.
finding-yaml-key = Ключом может быть только простой текст.
finding-yaml-documents = В тексте больше одного документа.
finding-yaml-word = { $word } читается как текст: если имелось в виду «да» или «нет», напишите { $value }, иначе возьмите в кавычки.
finding-check-failed = Этот документ не удаётся проверить как определение вида { $kind }: сообщите администратору.
finding-definition-key = «{ $key }» — не ключ: он начинается с латинской буквы или цифры и состоит из букв, цифр, «-» и «_», не больше { $most }.
finding-field-missing = Нет поля «{ $name }».
finding-field-unknown = Поля «{ $name }» здесь не бывает.
finding-field-shape = «{ $name }» — здесь должно быть: { $shape ->
    [object] объект
    [list] список
    [number] число
    [integer] целое число
    [boolean] true или false
   *[text] текст
}.
finding-field-empty = «{ $name }» ничего не содержит.
finding-name-twice = Имя «{ $name }» встречается дважды.
finding-value-unknown = «{ $value }» не подходит, возможно: { $known }.
finding-one-of = Нужно ровно одно из: { $known }.
finding-value-least = «{ $name }» — слишком маленькое число, нужно не меньше { $bound }.
finding-value-least-open = «{ $name }» — слишком маленькое число, нужно больше { $bound }.
finding-value-most = «{ $name }» — слишком большое число, нужно не больше { $bound }.
finding-value-most-open = «{ $name }» — слишком большое число, нужно меньше { $bound }.
finding-text-long = «{ $name }» — слишком длинный текст, можно не больше { $bound } знаков.
finding-list-long = «{ $name }» — слишком длинный список, можно не больше { $bound } значений.
finding-definition-key-other = Определение называется «{ $name }», а сохраняется как «{ $key }».
finding-value-critical = { $source ->
    [model] Значение даст модель
   *[person] Значение даст человек в ответ на вопрос
}, а { $field } — важное поле: перед записью спросит карточка.
finding-reference-unknown = «{ $name }» — такого определения вида { $kind } нет.
finding-reference-draft = «{ $name }» ({ $kind ->
    [scenario] сценарий
    [agent] агент
    [flow] поток
    [workflow] процесс
    [tuum] часть процесса
   *[other] { $kind }
}) — ещё черновик: его нужно опубликовать.
finding-reference-off = «{ $name }» ({ $kind ->
    [scenario] сценарий
    [agent] агент
    [flow] поток
    [workflow] процесс
    [tuum] часть процесса
   *[other] { $kind }
}): выключено. Включите или выберите другое.
finding-value-unfit = «{ $name }» не подходит: { $problem }.
finding-step-id-twice = Шаг с именем «{ $name }» уже есть.
finding-step-type-unknown = Типа шага «{ $name }» нет.
finding-action-type-unknown = Действия «{ $name }» нет.
finding-step-target-unknown = Шага «{ $name }» нет.
finding-step-target-variable = Куда идти дальше, пишет автор: id шага целиком, без переменных — «{ $name }».
finding-branch-condition-missing = У ветвления нет условия: напишите condition.
finding-branch-ways-missing = У ветвления нет путей: напишите branches с if и else.
finding-field-elsewhere = Поле «{ $name }» действует только у шага branch.
finding-loop-endless = Шаги { $names } повторяются без конца: между ними нет ни вопроса, ни ожидания, ни условия.
finding-step-unreachable = До этого шага не дойти.
finding-variable-unset = Переменной «{ $name }» никто не даёт значения: её должен передать тот, кто запускает сценарий.
finding-variable-reserved = Имя переменной «{ $name }» занято: имена с «__» даёт только программа.
finding-variable-program = Значение «{ $name }» не подействует: для кого, где и когда идёт сценарий, говорит сама программа.
finding-mapping-missing = Без output_mapping под-сценарий перезапишет все переменные с такими же именами.
finding-address-host-open = Сайт в адресе пишется целиком: подставлять значения можно только после него.
finding-address-odd = Такой адрес использовать нельзя: { $problem }.
finding-host-closed = Правила не открывают сайт адреса { $name } для http.get: файл оттуда не будет получен.
finding-pattern-wrong = Выражение regex не читается: { $problem }.
finding-step-internal = Шаг { $name } отвечает всем, что знает компания: в сценарии для клиентов его быть не может.
finding-scenario-elsewhere = Рядом нет файла «{ $name }»: сценарий с таким ключом должен быть опубликован.
finding-scenario-name-missing = У сценария нет названия: вместо него люди увидят его ключ.
finding-flow-step-unknown = Шага «{ $name }» нет.
finding-flow-sync-only = syncOnly всегда true: шаги потока отвечают целиком.
finding-flow-field-excluded = Поля «{ $name }» у потоков нет: сколько раз повторить шаг, говорит maxAttempts.
finding-flow-success-open = complete — false, а следующий шаг не назван: непонятно, что дальше.
finding-flow-next-unused = complete — true, поэтому следующего шага не будет.
finding-flow-loop-endless = Шаги { $names } повторяются без конца: ни один не завершает поток.
finding-flow-only-fails = Поток может только не получиться: ни один путь не ведёт к его завершению.
finding-flow-step-unreachable = До этого шага не дойти.
finding-flow-payload-missing = Запись STATIC без payload ничего не запишет.
finding-flow-payload-unused = payload здесь не действует: AGENT_OUTPUT записывает ответ агента.
finding-flow-number-usual = «{ $name }» меньше 1 считается как { $usual }.
finding-flow-default-unfit = Значение по умолчанию другого типа, нужен { $type }.
finding-flow-choice-unfit = Вариант другого типа, нужен { $type }.
finding-flow-default-no-choice = Значения по умолчанию нет среди вариантов.
finding-flow-reference-unknown = «{ $name }» — такого шага в потоке нет.
finding-flow-reference-form = «{ $name }» — не путь; путь выглядит так: { $example }.
finding-flow-title-missing = У потока нет названия: вместо него люди увидят его имя.
finding-script-long = В скрипте { $size } знаков, а читается не больше { $most }.
finding-script-syntax = Скрипт не читается: { $problem }.
finding-script-unsupported = В скриптах так нельзя: { $problem }.
finding-script-name = Имя { $name } здесь неизвестно.
finding-script-unawaited = Функция вызвана без await: если в ней что-то пойдёт не так, скрипт об этом не узнает и продолжит.
finding-script-doubtful = Скорее всего, это не сработает: { $problem }.
finding-script-raised = Скрипт остановился с ошибкой { $kind }: { $problem }.
finding-script-time = Скрипт работал дольше { $most } с.
finding-script-memory = Скрипту не хватило памяти.
finding-script-recursion = Функции скрипта слишком глубоко вызывают друг друга.
finding-script-calls = Скрипт вызвал функции больше { $most } раз.
finding-script-prints = Скрипт напечатал больше { $most } байт.
finding-script-input = { $name } нельзя передать в скрипт: { $problem }.
finding-script-result = Последняя строка скрипта должна давать данные JSON: { $problem }.
finding-script-busy = Сейчас выполняется слишком много скриптов, попробуйте позже.
finding-script-crashed = Процесс, в котором шёл скрипт, завершился: { $problem }.
finding-method-unknown = У портала нет метода «{ $name }».
finding-method-writes = Метод «{ $name }» что-то меняет, а здесь можно только читать. Изменения агент предлагает через effects.
finding-method-reads = Метод «{ $name }» только читает: предлагать в effects нечего, его место в tools.
finding-workflow-cycle = Эти части ждут друг друга по кругу: { $names } (CircularDependency).
finding-workflow-two-producers = «{ $name }» публикуют две части: { $first } и { $second }. Дайте одной другое имя.
finding-workflow-no-source = «{ $name }» не публикует ни одна часть, и такого параметра запуска нет.
finding-workflow-tuum-missing = Части «{ $name }» здесь нет.
finding-workflow-reference-field = «{ $name }» рядом с tuum не действует: у названной здесь части оно своё.
finding-workflow-rune-unfit = В части { $tuum } есть руна типа «{ $name }», которую эта программа выполнить не может.
finding-workflow-types = «{ $name }» там, откуда берётся, — { $given }, а здесь — { $wanted }.
finding-workflow-terminal-twice = Результат указан дважды: terminal у процесса один.
finding-workflow-terminal-inside = Эту часть ждут другие, например «{ $name }», поэтому результат она дать не может.
finding-workflow-terminal-empty = «{ $name }» взять неоткуда: эта часть результата будет пустой.
finding-workflow-output-unused = «{ $name }» не читает ни одна часть, и в результат это не входит.
finding-workflow-template-empty = «{ $name }» взять неоткуда: на этом месте будет пусто.
finding-workflow-template-form = { $name } останется в тексте как есть: в скобках стоит имя переменной или путь, например deal.TITLE.
finding-workflow-parameter-optional = Если при запуске не дать параметр «{ $name }», здесь будет ошибка: сделайте его обязательным или задайте значение по умолчанию.
finding-workflow-parameter-unused = Параметр «{ $name }» не читает ни одна часть.
finding-workflow-parameter-record = «{ $name }» — это номер записи, с которой работает процесс; параметр нельзя назвать так же.
finding-workflow-name-form = «{ $name }» не годится как имя переменной: оно начинается с буквы, в нём не больше 100 букв, цифр и _.
finding-workflow-title-missing = У процесса нет названия: вместо него люди увидят его имя.
finding-workflow-budget-steps = maxSteps в процессе ничего не ограничивает: каждая часть выполняется один раз. Укажите maxTokens, maxCost или maxSeconds.
finding-workflow-all-off = Все части выключены.
finding-tuum-variable-unmapped = Вход для «{ $name }» не указан, и ничто раньше её не даёт.
finding-tuum-variable-late = «{ $name }» появляется в этой же части, но позже.
finding-tuum-output-missing = «{ $name }» в этой части ничто не даёт.
finding-tuum-input-unused = «{ $name }» в этой части ничто не читает.
finding-tuum-variable-unused = «{ $name }» ничто не читает, и наружу она не выходит.
finding-tuum-prompt-missing = Здесь нужен промпт, а ни одна руна раньше к нему ничего не добавляет.
finding-tuum-prompt-unused = Промпт собран, но модель о нём не спрашивают: нет aiService.
finding-tuum-streaming-idle = isStreaming не действует без aiService.
finding-tuum-callback-idle = chunkCallback не запустится: нужны aiService и isStreaming.
finding-tuum-variable-replaced = «{ $name }» в этой части задаёт сама программа: дайте другое имя.
finding-tuum-not-proposed = «{ $name }» нет в mayPropose этой части.
finding-tuum-proposal-form = «{ $name }» — не вид изменения: он выглядит как ModifyEntity deal.
finding-tuum-proposes-nothing = mayPropose этой части пуст, поэтому в «{ $name }» не может быть изменений.
finding-tuum-empty = Эта часть ничего не делает.
finding-tuum-terminal-twice = terminal в части один.
finding-tuum-ai-twice = Эта часть уже спрашивает модель через aiService.
finding-rune-type-unknown = Рун типа «{ $name }» нет.
finding-rune-not-preparing = Руна типа { $name } не может стоять в promptRunes: её место в runes.
finding-rune-field-unknown = У рун типа { $type } нет поля «{ $name }».
finding-rune-template = Это нельзя заполнить: { $problem }.
finding-rune-wrong = Эта руна не сработает: { $problem }.
finding-rune-pattern = Выражение не читается: { $problem }.
finding-rune-group = В выражении нет группы «{ $name }».
finding-rune-path = «{ $name }» — не путь; путь выглядит так: items[0].title.
finding-rune-method-template = Метод пишется прямо в описании, подставить его нельзя: «{ $name }».
finding-rune-operation-lacks = Для { $operation } нужно { $name }.
finding-rune-operation-extra = У { $operation } не бывает { $name }.
finding-rune-operation-deletes = Удаление из процесса, скорее всего, будет отклонено, и вместе с ним всё, что процесс предлагает.
finding-rune-incremental-type = incrementalType действует, только если updateMode — Incremental.
finding-workflow-scripts-many = Проверяется не больше { $most } разных скриптов: этот и следующие не проверены.
finding-workflow-scripts-unchecked = Начиная отсюда скрипты проверить не удалось: { $problem }.
finding-script-variable-word = Скрипт не прочитает «{ $name }»: это слово языка.

# Ошибки в тексте правил; строка, ключ и подсказка показываются рядом.
finding-policy-duration = «{ $name }» — нужна длительность, например 1h, 90m или 2d.
finding-policy-duration-least = «{ $name }» — нужна длительность больше нуля, например 1h, 90m или 2d.
finding-policy-word-empty = Пустое слово ни к чему не подходит: уберите его.
finding-policy-why = «{ $name }» — нужна одна простая фраза: люди читают её, когда правило срабатывает.
finding-policy-condition-missing = У правила нет условий, и оно касалось бы каждого изменения: назовите хотя бы одно, например role: manager.
finding-policy-currency-alone = Валюта относится к «above»: укажите сумму или уберите валюту.
finding-policy-prices-missing = Предел в деньгах не действует без цен: добавьте prices, например prices: { $example }.
finding-policy-site = «{ $name }» — не адрес сайта: его пишут без пути и звёздочек, например api.example.com.
finding-policy-code = «{ $name }» — не код валюты, нужен такой, как RUB.
finding-policy-person = «{ $name }» — не ключ человека, нужен такой, как tg:1007.
finding-policy-method-unknown = Метода «{ $name }» нет в каталоге: в правилах он ничего не значит.
finding-policy-pattern-unfit = «{ $name }» не подходит ни к одному методу каталога.
finding-policy-entity-unknown = Записей вида «{ $name }» нет.
finding-policy-field-unknown = Поля «{ $name }» нет в каталоге.
finding-policy-kind-unknown = Определений вида «{ $name }» нет.
finding-policy-no-keys = Нужны ключи со значениями, например { $example }.
finding-policy-empty = В тексте ничего нет: если правила не нужны, напишите { $example }.
finding-policy-long = В тексте больше { $most } знаков.
finding-policy-yaml = Текст не читается как YAML: проверьте отступы, двоеточия, кавычки и скобки.
finding-policy-catalogue = Методы, добавленные в каталог, не подходят: { $problem }
