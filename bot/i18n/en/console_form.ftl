# The form of a definition in the console.
console-form-comma = It is not clear what the comma means: write { $whole } or { $part }
console-form-number = A number is needed, such as 0.4
console-form-integer = A whole number is needed
console-form-least = At least { $least }
console-form-most = At most { $most }
console-form-boolean = Yes or no is needed
console-form-at = Line { $line }, sign { $column }: { $said }
console-form-none = There is no form for this kind: edit the text.
console-form-unreadable = The form waits: the text cannot be read now, the first mistake is in line { $line }. Mend it, and the form comes back.
console-form-no-object = The form waits: the text is no description with fields, but something else.
console-form-followed = The name was changed where it is referred to as well: { $count }
console-form-removed = Removed: { $title }
console-form-removed-used = Removed: { $title }. Still referred to by: { $users }
console-form-return = Bring it back
console-form-gone = This place of the definition has changed meanwhile, so the change was not taken. Look at it and try again.
console-form-comments = The text has comments
console-form-go-on = Go on without comments
console-form-required = { $label } *
console-form-usual = If not given: { $value }
console-form-usual-choice = { $value } (as usual)
console-form-open = As usual
console-form-yes = Yes
console-form-no = No
console-form-up = Move up
console-form-down = Move down
console-form-remove = Remove
console-form-nameless = Without a name
console-form-more = More
console-form-unknown = { $value } (there is none)
console-form-agent = { $title } · { $key } · version { $version }
console-form-agent-prompt = If empty, the agent follows its own: “{ $prompt }”
console-form-agent-options = The agent has: { $options }
console-form-option = { $name ->
    [temperature] temperature { $value }
    [topP] top p { $value }
    [maxTokens] at most { $value } tokens
   *[other] { $name } { $value }
  }
console-form-add = { $name ->
    [launchParameters] Add a parameter
    [sharedChannels] Add a channel
    [memoryReads] Read another channel
    [memoryWrites] Write another channel
    [titles] Add a title
    [steps] Add a step
    [tuums] Add a tuum
    [promptRunes] Add a prompt rune
    [runes] Add a rune
    [triggerParameters] Add a parameter
   *[other] Add
  }
console-form-nothing = { $name ->
    [next] The flow ends
    [startStepId] The first of the list
    [next_step] The next of the list
    [if] The next of the list
    [else] The next of the list
    [on_invalid] The scenario fails
    [on_timeout] The next of the list
    [on_refused] The scenario fails
    [record] None
   *[other] As usual
  }
console-form-key = { $place ->
    [Tuum-inputMappings] Name here
    [tuum-inputMappings] Name here
    [TuumReference-inputMappings] Name here
    [Tuum-outputMappings] Shared name
    [tuum-outputMappings] Shared name
    [TuumReference-outputMappings] Shared name
    [Tuum-variableTypes] Variable
    [tuum-variableTypes] Variable
    [input-next_step_map] Answer
    [execute_sub_scenario-output_mapping] Its variable
    [run_flow-output_mapping] Field of the result
    [run_workflow-output_mapping] Field of the result
    [calculate-values] Variable
    [update_context-updates] Variable
    [scenario-initial_context] Variable
    [execute_sub_scenario-input_parameters] Its variable
    [schedule_scenario_run-context_to_pass] Its variable
   *[other] Name
  }
console-form-value-of = { $place ->
    [Tuum-inputMappings] Shared name
    [tuum-inputMappings] Shared name
    [TuumReference-inputMappings] Shared name
    [Tuum-outputMappings] Name here
    [tuum-outputMappings] Name here
    [TuumReference-outputMappings] Name here
    [Tuum-variableTypes] Type
    [tuum-variableTypes] Type
    [input-next_step_map] Key of the step
    [execute_sub_scenario-output_mapping] Variable here
    [run_flow-output_mapping] Variable here
    [run_workflow-output_mapping] Variable here
    [calculate-values] Expression
   *[other] Value
  }
console-form-row-add = Add a row
console-form-row-remove = Remove the row
console-form-row-twice = The name “{ $name }” is there already
console-form-row-nameless = The row has no name
console-form-insert = Insert a variable
