# The names of the fields of scenarios, agents and workflows in the form of the console; the sentences under them are those of the schemas.
console-form-own-name = { $place ->
    [flow-flowId] Key of the flow
    [FlowStep-id] Key of the step
    [SuccessRoute-next] After an answer
    [FailureRoute-next] After a failure
    [SharedChannel-id] Key of the channel
    [Defaults-context] What all agents know
    [MemoryWrite-mode] What is written
    [Title-title] What people read
    [scenario-name] Name
   *[other] { "" }
  }
console-form-name = { $name ->
    [agentVersionId] Agent
    [syncOnly] Whole answers
    [defaults] Shared by all steps
    [overrides] Options of the model
    [startStepId] First step
    [sharedChannels] Channels of memory
    [memoryReads] Reads from memory
    [memoryWrites] Writes to memory
    [maxAttempts] Attempts
    [complete] End the flow after an answer
    [fail] A failure ends the flow
    [ui] People start it: in chats and on pages
    [api] Programs start it: over HTTP
    [maxTokens] Most tokens
    [topP] Top p, 0–1
    [params] Parameters
    [id] Key
    [if] If so
    [else] If not
   *[other] { $plain }
  }
console-form-hint = { $place ->
    [scenario-version] Your own number, such as 1.0.
   *[other] { $said }
  }
console-form-value = { $place ->
    [mode-STATIC] A fixed entry
    [mode-AGENT_OUTPUT] The agent's answer
    [scope-user] Of the person: later runs see it
    [scope-run] Of the run: it ends with it
    [type-action] action: what action_type names
   *[other] { $value }
  }
