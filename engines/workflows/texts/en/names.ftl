# What doors call the engine. A message ID--NAME is said in place of ID where the engine, kind or command NAME is meant.
console-definition-kind--workflow = Workflow
console-definition-kinds--workflow = Workflows
console-runs-engine--workflow = Workflow
run-offers--workflow = Which workflow shall begin?
run-offers-none--workflow = There is nothing to start yet: no workflow is published.
run-definition-gone--workflow = There is no “{ $definition }” here: it may have been renamed or deleted. /workflow shows which there are.
scenario-child-failed--workflow = The workflow “{ $child }” inside of this scenario failed, so nothing more is done.
run-offer-unknown--workflow = There is no such workflow here. /workflow lists all that can be started.
console-definition-kind--tuum = Part of a workflow
console-definition-kinds--tuum = Parts of workflows
finding-reference-draft--workflow = The workflow “{ $name }” is still a draft: it has to be published.
finding-reference-off--workflow = The workflow “{ $name }” is switched off: switch it on, or choose another.
kind-of--workflow = workflow
finding-reference-draft--tuum = The tuum “{ $name }” is still a draft: it has to be published.
finding-reference-off--tuum = The tuum “{ $name }” is switched off: switch it on, or choose another.
