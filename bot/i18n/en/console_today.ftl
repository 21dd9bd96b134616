# The first page of the console: what waits and what is wrong.
console-today-waiting = Wait for your decision
console-today-others = Wait for others
console-today-unknown = Outcome unknown
console-today-runs = Runs
console-today-failed = Runs that failed in { $days } days
console-today-run-count = { $status ->
    [running] at work: { $count }
    [waiting] waiting: { $count }
    [paused] paused: { $count }
   *[failed] failed: { $count }
  }
console-today-changes = Your changes in 24 hours
console-today-of = of { $limit }
console-today-model = Model this month
console-today-model-all = Model this month, everybody
console-today-budget = your budget: { $percent } %
console-today-tokens = Tokens this month
console-today-tokens-all = Tokens this month, all people
console-today-portal = Limit of requests to Bitrix24
console-today-percent = { $percent }%
console-today-portal-refuses = Bitrix24 takes no calls for now: { $acts }
console-today-calm = All is calm: nothing waits for a decision, and every call has a clear outcome.
console-today-all = All { $count } on the page of approvals
console-today-all-runs = All { $count } on the page of runs
console-today-check = Check the record
console-today-run-running = Running
console-today-run-waiting = Waiting
console-today-run-paused = Paused
console-today-run-failed = Failed
console-today-unwell = { $party ->
    [telegram] Telegram
    [database] The database
    [workers] The queue of work
    [portal] Bitrix24
    [model] The model
    [disk] The disk
   *[other] { $party }
} has not worked since { $since }
console-today-undelivered = Messages that were not delivered: { $count }
console-today-late = Messages have waited for delivery for more than five minutes
console-today-freeze = Stop all writing
console-today-freeze-hint = Stops all changes in Bitrix24 for everybody at once. Reading goes on.
console-today-freeze-title = Stop all writing to Bitrix24?
console-today-freeze-about = No change is sent until you or another administrator allow writing again. Cards wait; reading and searching go on.
console-today-freeze-reason = Why (everybody who asks for a change reads it)
console-today-freeze-now = Stop
console-today-frozen = Writing is stopped for everybody.
console-today-release = Allow writing
console-today-release-title = Allow writing again?
console-today-release-about = Nothing runs by itself: cards wait for their button.
console-today-release-now = Allow
console-today-released = Writing is allowed again.
console-today-back = Back
console-numbers = Numbers of the morning
console-numbers-none = Nobody has asked for numbers yet. To count them, a copy of the deals is read from the portal; this takes some minutes.
console-numbers-begin = Show numbers
console-numbers-counting = Counting…
