# What a run is started with: parameters, and answers to the questions about them. Flows, workflows and scenarios share it; the names are stored.
flow-start-unfit = This was started wrongly: “{ $name }” must be an object.
flow-start-unknown = This was started wrongly: “{ $names }” means nothing here. Parameters stand inside of “parameters”.
flow-parameter-unfit = { $problem ->
    [missing] The parameter “{ $name }” is missing.
    [unknown] There is no parameter “{ $name }” here{ $expected ->
        [none] {""}
       *[other] ; there is { $expected }
    }.
    [choice] The parameter “{ $name }” does not fit; it may be: { $expected }.
   *[other] The parameter “{ $name }” is of another type: { $expected ->
        [string] a text is needed
        [number] a number is needed
        [boolean] yes or no is needed, in programs true or false
        [array] a list is needed
       *[object] a JSON object is needed
    }.
}
flow-answer-unfit = { $type ->
    [number] A number is needed, such as 25, 1500.5 or 700k.
    [array] A list is needed: each value on a line of its own.
    [boolean] Yes or no is needed.
    [object] A JSON object is needed, such as {"{"}"city": "Tomsk"{"}"}.
   *[other] This answer does not fit. Please write it otherwise.
}
flow-not-from-programs = Only people start this: its author does not let programs start it.
flow-not-in-chats = Only programs start this: its author does not let people start it in a chat.
answer-number-ambiguous = This can be read as two numbers. If { $thousands } is meant, please type { $thousands }; if { $decimals }, then { $decimals }.
answer-number-currency = Just a number is needed: “{ $currency }” would be lost. If { $number } is meant, please type { $number }.
