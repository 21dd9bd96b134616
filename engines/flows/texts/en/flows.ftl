# Flows of agents: what a person reads when a flow could not go to its end.
flow-step-failed = The step “{ $step }” did not work out{ $why ->
    [silent] : the agent did not answer
    [empty] : the agent's answer was empty
    [tools] : the agent asks for data again and again
    [operations] : the agent proposed changes that cannot be
    [refused] : the proposed changes were not made
   *[other] {""}
}. So the flow has stopped.
flow-unreadable = The description of this flow cannot be read. Its author has to mend it.
flow-agent-gone = An agent of this flow is gone or switched off. Please tell the flow’s author.
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
flow-too-long = The flow made more than { $most } steps and was stopped: it seems to go in circles.
flow-answer-unfit = { $type ->
    [number] A number is needed, such as 25 or 1500.5.
    [array] A list is needed: each value on a line of its own.
    [boolean] Yes or no is needed.
    [object] A JSON object is needed, such as {"{"}"city": "Tomsk"{"}"}.
   *[other] This answer does not fit. Please write it otherwise.
}
flow-not-from-programs = Only people start this: its author does not let programs start it.
flow-not-in-chats = Only programs start this: its author does not let people start it in a chat.
flow-budget-steps = The flow made { $most } steps, as many as its author allows, and was stopped. “Try again” grants the same once more and goes on from here.
flow-outcome-unknown = It is not known whether all changes of this step were made, so the flow has stopped. Look at the records in Bitrix24 before you do it again.
