# Ошибки в условиях и подстановках сценариев. Место в условии (строка, столбец) и подсказка показываются рядом.
expression-left = { $left ->
    [text] текст
    [number] число
    [list] список
    [object] объект
    [null] пусто (null)
   *[other] да/нет
}
expression-right = { $right ->
    [text] текст
    [number] число
    [list] список
    [object] объект
    [null] пусто (null)
   *[other] да/нет
}
expression-empty = Условие пустое.
expression-syntax = Условие не читается: проверьте кавычки, скобки и знаки между значениями.
expression-long-source = Условие длиннее { $limit } знаков: разделите его на несколько шагов.
expression-large = В условии больше { $limit } частей: разделите его на несколько шагов.
expression-deep = В условии больше { $limit } скобок друг в друге.
expression-forbidden = В условии нельзя писать «{ $what }».
expression-is = Слово is пишут только перед null, true и false; значения сравнивают знаком ==.
expression-name = Нет переменной «{ $name }».
expression-function-unknown = Нет функции { $name }().
expression-method-unknown = Нет метода .{ $name }().
expression-arguments = { $name }() принимает значений: от { $least } до { $most }.
expression-function = { $name }() не работает с таким значением ({ expression-left }).
expression-method = .{ $name }() не работает с таким значением ({ expression-left }).
expression-compare = Нельзя сравнить: слева { expression-left }, справа { expression-right }.
expression-day-text = «{ $left }» — это текст, а не день. День пишут так: 2026-12-31; ответ человека читает вопрос с type: date.
expression-arithmetic = Нельзя посчитать «{ $sign }»: слева { expression-left }, справа { expression-right }. Число из текста делает int(…).
expression-in = Справа от in должен быть текст, список или объект, а там { expression-right }.
expression-in-text = В тексте ищут только текст, а слева от in — { expression-right }.
expression-no-part = В значении нет «{ $name }».
expression-no-parts = У этого значения нет частей: это { expression-left }.
expression-slice = Часть [от:до] есть только у текста и списка, границы — целые числа.
expression-number = Число слишком большое.
expression-long = Список или текст длиннее { $limit }.
expression-zero = Деление на ноль.
expression-failed = С этими значениями условие не вычисляется.
template-deep = В шаблоне больше { $limit } уровней вложенности.
template-long = Тексты шаблона вместе длиннее { $limit } знаков.
template-many = В шаблоне больше { $limit } подстановок.
template-filled-long = С этими значениями текст стал бы длиннее { $limit } знаков.
template-filled-deep = С этими значениями получилось бы больше { $limit } уровней вложенности.
template-value = Значение нельзя записать как текст.
