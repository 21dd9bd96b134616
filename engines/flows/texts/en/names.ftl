# What doors call the engine. A message ID--NAME is said in place of ID where the engine, kind or command NAME is meant.
console-definition-kind--flow = Flow
console-definition-kinds--flow = Flows
console-runs-engine--flow = Flow
run-offers--flow = Which flow shall begin?
run-offers-none--flow = There is nothing to start yet: no flow is published.
run-definition-gone--flow = There is no “{ $definition }” here: it may have been renamed or deleted. /flow shows which there are.
scenario-child-failed--flow = The flow of agents “{ $child }” inside of this scenario failed, so nothing more is done.
run-offer-unknown--flow = There is no such flow here. /flow lists all that can be started.
console-definition-kind--agent = Agent
console-definition-kinds--agent = Agents
finding-reference-draft--flow = The flow “{ $name }” is still a draft: it has to be published.
finding-reference-off--flow = The flow “{ $name }” is switched off: switch it on, or choose another.
kind-of--flow = flow
finding-reference-draft--agent = The agent “{ $name }” is still a draft: it has to be published.
finding-reference-off--agent = The agent “{ $name }” is switched off: switch it on, or choose another.
