# Mistakes in the conditions and placeholders of scenarios. The place in the condition (line, column) and a suggestion are shown beside them.
expression-left = { $left ->
    [text] a text
    [number] a number
    [list] a list
    [object] an object
    [null] nothing (null)
   *[other] yes/no
}
expression-right = { $right ->
    [text] a text
    [number] a number
    [list] a list
    [object] an object
    [null] nothing (null)
   *[other] yes/no
}
expression-empty = The condition is empty.
expression-syntax = The condition cannot be read: check quotes, brackets and the signs between values.
expression-long-source = The condition is longer than { $limit } characters: split it into several steps.
expression-large = The condition has more than { $limit } parts: split it into several steps.
expression-deep = The condition has more than { $limit } brackets within one another.
expression-forbidden = A condition cannot hold “{ $what }”.
expression-is = The word is goes only before null, true and false; values are compared with ==.
expression-name = There is no variable “{ $name }”.
expression-function-unknown = There is no function { $name }().
expression-method-unknown = There is no method .{ $name }().
expression-arguments = { $name }() takes { $least } to { $most } values.
expression-function = { $name }() does not work with this value ({ expression-left }).
expression-method = .{ $name }() does not work with this value ({ expression-left }).
expression-compare = Cannot compare: { expression-left } on the left, { expression-right } on the right.
expression-day-text = “{ $left }” is a text and no day. A day is written 2026-12-31; a question with type: date reads what a person answers.
expression-arithmetic = Cannot calculate “{ $sign }”: { expression-left } on the left, { expression-right } on the right. int(…) makes a number of a text.
expression-in = On the right of in there must be a text, a list or an object, not { expression-right }.
expression-in-text = Only a text can be searched in a text, and on the left of in there is { expression-right }.
expression-no-part = The value has no “{ $name }”.
expression-no-parts = This value has no parts: it is { expression-left }.
expression-slice = Only a text or a list has a part [from:to], and both are whole numbers.
expression-number = The number is too large.
expression-long = The list or text is longer than { $limit }.
expression-zero = Division by zero.
expression-failed = The condition cannot be evaluated with these values.
template-deep = The template has more than { $limit } levels.
template-long = The texts of the template are together longer than { $limit } characters.
template-many = The template has more than { $limit } placeholders.
template-filled-long = With these values the text would be longer than { $limit } characters.
template-filled-deep = With these values there would be more than { $limit } levels.
template-value = The value cannot be written as text.
