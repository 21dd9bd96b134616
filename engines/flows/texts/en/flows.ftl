# Flows of agents: what a person reads when a flow could not go to its end.
flow-step-failed = The step “{ $step }” did not work out{ $why ->
    [silent] : the agent did not answer
    [empty] : the agent's answer was empty
    [tools] : the agent asks for data again and again
    [json] : the agent's answer is no JSON that can be read, the second one neither
    [operations] : the agent proposed changes that cannot be
    [refused] : the proposed changes were not made
   *[other] {""}
}. So the flow has stopped.
flow-unreadable = The description of this flow cannot be read. Its author has to mend it.
flow-agent-gone = An agent of this flow is gone or switched off. Please tell the flow’s author.
flow-too-long = The flow reached the limit of { $most } steps in one run and was stopped before the step “{ $step }” (made { $often } times). The answers that came stay in the run. If this is no circle, make two flows of it.
flow-budget-steps = The flow made { $most } steps, as many as its author allows, and was stopped. “Try again” grants the same once more and goes on from here.
flow-outcome-unknown = It is not known whether all changes of this step were made, so the flow has stopped. Look at the records in Bitrix24 before you do it again.
flow-way-failure = failed
flow-add-step = An agent's step
flow-box-end = End
flow-box-failure = Failure
