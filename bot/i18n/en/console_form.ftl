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
console-form-section = { $section ->
    [start] Start
    [shared] Shared by all steps
    [budget] Limits of one run
    [memory] Memory
    [result] Result
    [where] Where it leads
   *[other] More
  }
console-form-flow = { $field ->
    [flow-flow-id] Key of the flow
    [flow-title] Title
    [flow-description] Description
    [flow-tags] Tags, one a line
    [flow-start-step] First step
    [flow-ui] People start it: in chats and on pages
    [flow-api] Programs start it: over HTTP
    [flow-parameters] Launch parameters
    [flow-steps] Steps
    [flow-channels] Channels of memory
    [flow-context] What all agents know (JSON)
    [flow-temperature] Temperature, 0–2
    [flow-top-p] Top p, 0–1
    [flow-max-tokens] Most tokens of an answer
    [flow-most-steps] Most steps
    [flow-most-tokens] Most tokens
    [flow-most-cost] Most money
    [flow-most-seconds] Most seconds
    [flow-result] Result (JSON)
    [flow-summary] Fields of the summary, one a line
    [flow-titles] Names of the fields of the result
    [step-id] Key of the step
    [step-name] Name
    [step-agent] Agent
    [step-prompt] Task
    [step-next] After an answer
    [step-complete] Complete the flow after an answer
    [step-next-after-failure] After a failure
    [step-fail] A failure ends the flow
    [step-attempts] Attempts
    [step-reads] Reads from memory
    [step-writes] Writes to memory
    [step-temperature] Temperature, 0–2
    [step-top-p] Top p, 0–1
    [step-max-tokens] Most tokens of the answer
    [step-transitions] All ways (JSON)
    [parameter-name] Name
    [parameter-type] Type
    [parameter-required] Required
    [parameter-description] What people are asked
    [parameter-default] Default
    [parameter-choices] Choices (JSON list)
    [channel-id] Key of the channel
    [channel-versions] Entries to keep
    [channel-days] Days to keep them
    [channel-scope] Whose memory
    [read-channel] Channel
    [read-limit] Newest entries
    [write-channel] Channel
    [write-mode] What to write
    [write-payload] Fixed entry (JSON)
    [title-name] Name of the field
    [title-title] What to call it
   *[other] { $field }
  }
console-form-flow-hint = { $field ->
    [flow-flow-id] In Latin letters; the flow is stored and started under it.
    [flow-context] Facts that every agent sees.
    [flow-result] Texts such as $steps.review.output.content are replaced by answers of steps.
    [flow-summary] Paths such as steps.review.output.content.
    [step-complete] Counts more than the step that is chosen above.
    [step-fail] A step after the failure runs all the same.
    [step-attempts] The first one included.
    [step-transitions] The same as above, in one field.
    [write-payload] For a fixed entry.
    [parameter-default] A text or JSON.
   *[other] { "" }
  }
console-form-flow-nothing = { $field ->
    [start-step] The first of the list
    [next] The end of the flow
    [next-after-failure] No step: the flow ends
   *[other] As usual
  }
console-form-flow-add = { $what ->
    [step] Add a step
    [parameter] Add a parameter
    [channel] Add a channel
    [read] Read another channel
    [write] Write another channel
   *[other] Add a name
  }
console-form-flow-choice = { $offer ->
    [types] { $value ->
        [string] Text
        [number] Number
        [boolean] Yes or no
        [object] Object (JSON)
       *[other] List (JSON)
      }
    [modes] { $value ->
        [STATIC] A fixed entry
       *[other] The agent's answer
      }
   *[other] { $value ->
        [user] The person's: later runs see it
       *[other] The run's: it ends with it
      }
  }
console-form-add = { $name ->
    [steps] Add a step
    [tuums] Add a tuum
    [promptRunes] Add a prompt rune
    [runes] Add a rune
    [triggerParameters] Add a parameter
   *[other] Add
  }
console-form-nothing = { $name ->
    [next_step] The next of the list
    [if] The next of the list
    [else] The next of the list
    [on_invalid] The scenario fails
    [on_timeout] The next of the list
    [on_refused] The scenario fails
    [record] None
   *[other] As usual
  }
