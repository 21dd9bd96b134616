# The page of people in the console.
console-people = People
console-people-who = Whom the bot answers
console-people-invite = Invite an employee
console-people-invitations = Invitations not used yet
console-people-no-invitations = No invitation is open.
console-people-tokens = Access of programs (HTTP API)
console-people-column = { $column ->
    [name] Name
    [role] Role
    [sees] Whose records they see
    [mode] Mode
    [place] Language and zone
    [lead] Lead
    [last] Last in the chat
   *[more] Actions
  }
console-people-account = Telegram { $telegram }{ $known ->
    [yes] {" "}· employee { $employee }
   *[no] {""}
  }
console-people-others = also Telegram: { $others }
console-people-dismissed = { $known ->
    [yes] dismissed in Bitrix24 since { $since }
   *[no] without access
  }
console-people-listed = { $fixed ->
    [yes] in the access file
   *[no] by invitation
  }
console-people-sees = { $sees ->
    [all] all
   *[own] their own
  }
console-people-sees-some = their own, and: { $people }
console-people-mode = { $mode ->
    [shadow] shadow: plans only
    [canary] canary
   *[full] full
  }
console-people-rights = records: { $sees } · mode: { $mode }
console-people-locale = { $locale ->
    [en] English
   *[ru] Russian
  }
console-people-away = away until { $until }{ $named ->
    [yes] , deputy: { $deputy }
   *[no] {""}
  }
console-people-employee = employee { $number }
console-people-what = What they may do
console-people-what-of = What { $name } may do
console-people-what-why = By the rules in force, with records of their own. Other values and records of others may be decided more strictly.
console-people-end = End access
console-people-end-of = End access: { $name }
console-people-invited-by = invited by { $name }
console-people-until = { $over ->
    [yes] expired { $expires }
   *[no] works until { $expires }
  }
console-people-withdraw = Withdraw
console-people-withdraw-sure = Withdraw the invitation? Nobody will get in by its link.
console-people-withdraw-yes = Yes, withdraw it
console-people-not-yours = That did not work: this access is changed in the access file alone, or you have lost the right.
console-people-ended = Noted, it takes effect within a second.
console-people-customers = customers write here
console-people-no-approval = approves no cards
console-people-close = Close
console-people-outcome = { $outcome ->
    [alone] Alone
    [card] With a card that they approve themselves
    [lead] With a card that a lead approves
    [two_people] With a card that a second person approves
    [planned] A plan only: nothing is sent
   *[refused] Not at all
  }
console-people-act = { $act ->
    [read-deal] read a deal
    [add-deal] create a deal
    [rename-deal] rename a deal
    [move-deal] move a deal to another stage
    [sum-deal] change a sum by a tenth (100,000 → 110,000)
    [sum-deal-large] change the sum of a large deal (4.9 → 5 million)
    [sum-deal-jump] change a sum tenfold
    [assign-deal] hand a deal to somebody else
    [add-lead] create a lead
    [rename-contact] rename a contact
    [comment] write a comment in a deal
    [task-other] give somebody else a task
   *[delete-deal] delete a deal
  }
console-people-employee-field = Employee in Bitrix24
console-people-works = The link works for
console-people-hours = { $hours ->
    [24] a day
    [48] two days
    [168] a week
   *[720] 30 days
  }
console-people-second = Yes, it is a second Telegram account of the same employee
console-people-taken = ⚠️ This employee has access already: { $names }.
console-people-choose = Choose an employee.
console-people-confirm-second = The employee has access already. If a second Telegram account is wanted, tick it.
console-people-make = Make the link
console-people-cancel = Cancel
console-people-unfit = { $known ->
    [yes] Bitrix24 says that this employee was dismissed. No invitation was made.
   *[no] Bitrix24 did not confirm this employee. No invitation was made, try again.
  }
console-people-no-bot = Telegram does not answer now, and without it the bot's name for the link is not known. No invitation was made.
console-people-no-telegram = The bot works without Telegram: there is nowhere to invite to.
console-people-no-portal = Bitrix24 does not answer now, so there is no list of employees.
console-people-link = The link for { $name }
console-people-link-field = Link
console-people-link-once = Give it to this employee alone. It works once, until { $expires }; when this window is closed nobody can see it again.
console-people-copy = Copy
console-people-copied = Copied
