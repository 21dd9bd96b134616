# Проба определения в редакторе консоли.
console-trial = Проба
console-trial-told = Проба ничего не меняет. За клиента отвечаете вы; модель и портал можно спросить по-настоящему, ответы модели идут в ваш лимит.
console-trial-start = Попробовать
console-trial-changed = Текст с тех пор изменён, а проба идёт по прежнему. «Сначала» — по новому.
console-trial-again = Сначала
console-trial-stop = Остановить
console-trial-case = Готовые ответы, как в файле .test.yaml
console-trial-case-label = Один тест: inputs, mocks, answers, parameters…
console-trial-case-wrong = Готовые ответы не подходят:
console-trial-mistakes = Сначала исправьте ошибки:
console-trial-nothing = Ничего не произошло.
console-trial-model = Модель отвечает: { $text }
console-trial-wait = Ждёт до { $moment }; в пробе часы переводятся сразу.
console-trial-child = Запускает { $what }
console-trial-effect = { $status ->
    [planned] Было бы предложено
    [succeeded] Прочитано
    [refused] Отказано
   *[other] { $status }
}
console-trial-wanted = { $kind ->
    [model] Шаг «{ $step }» спрашивает модель. Что она ответит?
    [agent] Шаг «{ $step }» спрашивает помощника. Что он ответит?
    [read] Шаг «{ $step }» читает портал. Что он вернёт?
    [run] Шаг «{ $step }» запускает другое определение. Что оно вернёт?
   *[answer] Шаг «{ $step }» ждёт ответа человека
}
console-trial-field = { $kind ->
    [read] YAML или JSON; пусто — ничего
    [run] YAML или JSON; пусто — ничего
    [answer] Ответ
   *[other] Ответ модели
}
console-trial-give = Дальше
console-trial-unfit = Такой ответ здесь не подходит.
console-trial-read-wrong = Это не YAML и не JSON.
console-trial-ended = { $status ->
    [done] Дошло до конца
    [failed] Не получилось
    [cancelled] Прервано
    [stopped] Остановлено
   *[unfinished] Не доиграно: этого проба не умеет спросить, дайте в готовых ответах
}
console-trial-result = Что получилось
console-trial-earlier = Раньше было ещё: { $count }.
console-trial-asks = Модель отвечает сама
console-trial-ask = { $kind ->
    [read] Прочитать в портале
   *[other] Спросить модель
}
console-trial-forget = Забыть ответы модели и портала
console-trial-budget = Ваш лимит на модель в этом месяце исчерпан, она не спрошена. Можно ответить за неё.
console-trial-no-answer = Модель не ответила. Попробуйте ещё раз или ответьте за неё.
console-trial-not-read = Портал не прочитан: { $why }
console-trial-save = Сохранить как тест
console-trial-test-name = Из пробы
console-trial-not-saved = Тест не вышел: { $why }
