# The page of health in the console.
console-health = Health
console-health-frozen = All changes in Bitrix24 are stopped.
console-health-parties = What the bot needs
console-health-unknown = Not known yet.
console-health-party = { $party ->
    [telegram] Telegram
    [database] Database
    [workers] Handling of messages
    [portal] Bitrix24
    [model] Language model
    [disk] Disk
   *[other] { $party }
  }
console-health-works = { $ok ->
    [yes] works
   *[no] does not work
  }
console-health-since = since { $since }
console-health-queue = What waits
console-health-row = { $kind ->
    [inbox-turn] Messages of people
    [inbox-express] Decisions and commands
    [outbox-new] Answers to send
    [outbox-failed] Not delivered
    [effects-requested] Cards that wait for a decision
    [effects-approved] Approved, not begun
    [effects-started] Under way
    [effects-unknown] Outcome unknown
    [runs-running] Runs at work
    [runs-waiting] Runs that wait
    [runs-paused] Runs paused
    [timers] Put off to a time
   *[timers-due] Of these due
  }
console-health-oldest = since { $since }
console-health-size = Size of the database
console-health-megabytes = { $count } MB
console-health-limits = Limits of Bitrix24
console-health-unlimited = The limit of requests is off.
console-health-level = Counter of requests: { $level } of { $burst }
console-health-rate = It falls by { $rate } a second.
console-health-waiting = Waiting for their turn: { $waiting }, sent without an answer yet: { $flying }
console-health-operating = { $used ->
    [yes] Running time of methods in 10 minutes, of { $budget } s:
   *[no] Running time of methods in 10 minutes: none took a second of { $budget }.
  }
console-health-session = { $kind ->
    [access] list of people
    [door] receiving messages
    [portal] events of Bitrix24
    [definition-news] news of definitions
    [policy] rules
    [schedules] schedules
    [run] run: { $id }
   *[other] { $session }
  }
console-health-refused = Bitrix24 takes none for now
console-health-seconds = { $name }: { $seconds } s
console-health-leases = Conversations and runs at hand: { $count }
console-health-no-leases = Nothing is being worked on.
console-health-until = process { $owner }, until { $until }
console-health-more = And { $count } more.
console-health-providers = Providers of models
console-health-breaker = { $state ->
    [closed] works
    [half-open] being tried again
   *[open] left alone after failures
  }
console-health-charts = What was done
console-health-as-of = As of { $time }. Read once a minute.{ $cut ->
    [yes] {" "}There are too many events, not all are counted.
   *[no] {""}
  }
console-health-chart = { $chart ->
    [calls] Changes in Bitrix24, 14 days
    [waits] How long cards waited for a decision, 14 days
   *[usage] Use of the model this month
  }
console-health-end = { $end ->
    [succeeded] done
    [refused] refused
   *[unknown] outcome unknown
  }
console-health-day = Day
console-health-wait = { $group ->
    [0] under a minute
    [1] 1–5 min
    [2] 5–15 min
    [3] under an hour
    [4] 1–4 hours
    [5] under a day
   *[6] longer
  }
console-health-median = Half were decided in less than { $waited }.
console-health-waited = Waited
console-health-cards = Cards
console-health-person = Who
console-health-tokens = Tokens
console-health-money = Cost
console-health-no-prices = The rules give no prices of models, so tokens are shown.
console-health-no-calls = Nothing was changed in these days.
console-health-no-waits = No card was decided in these days.
console-health-no-usage = The model was not asked this month.
console-health-values = Values
console-health-why = { $why ->
    [no-answer] no answer
    [token-not-accepted] token not accepted
    [no-access] no access
    [no-connection] no connection
    [nothing-was-heard-yet] nothing was heard yet
   *[other] { $said }
  }
