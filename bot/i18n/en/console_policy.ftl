# The page of the policy in the console.
console-policy = Rules
console-policy-reader = An administrator changes the rules. Here you see what is in force.
console-policy-closed = { $why ->
    [not_set] The shipped rules are in force. To change them here, make a file (the line "rules: []" is enough), give its path in the setting POLICY_FILE, and restart the bot.
    [missing] There is no file { $name }, which POLICY_FILE names. Make it, and open this page again.
    [unreadable] The file { $name } cannot be read: check its permissions and its encoding (UTF-8).
    [file_closed] The bot may not write the file { $name }. Let its user write it, or change the file on the server.
   *[folder_closed] The bot may not write into the folder of { $name }, where the new file is written first. Let its user write there, or change the file on the server.
  }
console-policy-now = In force now
console-policy-version = Version { $digest }: the shipped rules and your file together.
console-policy-file = File { $name }
console-policy-save = Save
console-policy-undo = Back to the file
console-policy-right = No mistakes. Rules: { $rules }, version { $digest }.
console-policy-wrong = { $count ->
    [one] { $count } mistake: with it the text is not saved
   *[other] { $count } mistakes: with them the text is not saved
  }
console-policy-restart = Methods added to the catalogue count when the bot has been restarted.
console-policy-line = line { $line }
console-policy-saved = Saved. The bot is reading the new text…
console-policy-in-force = Saved and in force: version { $digest }.
console-policy-not-taken = Saved, but the bot still works by the old rules. Its messages say why.
console-policy-not-written = The file could not be written ({ $why }). The old text is whole, yours stays in the editor.
console-policy-conflict = { $why ->
    [changed] Somebody else has changed the file meanwhile. Nothing was saved, your text stays in the editor. What has changed in the file:
   *[other] The file cannot be reached any more. Nothing was saved, your text stays in the editor.
  }
console-policy-conflict-choice = Take their changes into your text, or take the text of the file as a whole.
console-policy-mine = Go on with my text
console-policy-theirs = Take the text of the file
console-policy-rehearsal = What would change
console-policy-rehearsal-why = The text in the editor is tried on what the bot has proposed so far. Nothing is sent or saved.
console-policy-period = Period
console-policy-days = { $count ->
    [one] { $count } day
   *[other] { $count } days
  }
console-policy-try = Try it
console-policy-try-wrong = Mend the mistakes in the text first.
console-policy-stop = Stop
console-policy-stopped = Stopped.
console-policy-progress = How much has been read
console-policy-reading = Acts checked: { $steps }, differences: { $changed }
console-policy-read = Acts checked: { $steps }, plans: { $plans }.{ $cut ->
    [yes] {" "}These are the newest: there are too many for the others.
   *[no] {""}
  }
console-policy-no-plans = The bot has proposed nothing in that time.
console-policy-no-change = With this text all would be decided as it was.
console-policy-moved = { console-policy-before }: { $count }
console-policy-before = { $before ->
    [allowed] at once
    [asked] asked
    [refused] refused
    [planned] a plan only
   *[other] otherwise
  } → { $after ->
    [allowed] at once
    [asked] will ask
    [refused] will refuse
    [not-begun] will not begin
    [planned] a plan only
   *[other] will not decide
  }
console-policy-otherwise = same decision, another reason: { $count }
console-policy-more = { $count ->
    [one] And { $count } more difference.
   *[other] And { $count } more differences.
  }
console-policy-becomes = becomes
console-policy-verdict = { $verdict ->
    [allowed] at once
    [asked] with a card
    [refused] refused
    [planned] a plan only
    [not-begun] not begun
   *[other] no access
  }
console-policy-none = { $key ->
    [ask_above] not set
    [four_eyes_above] not set
    [writes_per_day] no limit
    [tokens_per_month] no limit
    [money_per_month] no limit
    [sum_jump] never
   *[other] none
  }
console-policy-count = { $key ->
    [sum_jump] by { $count } times
    [undo_for] { $count } min
    [remind_lead_after] { $count } min
   *[other] { $count }
  }
console-policy-part = { $part ->
    [limits] Limits
    [asking] What is asked about, and what is forbidden
    [rules] Rules of the company
    [outside] What may be done outside of Bitrix24
    [models] Use of the model, for each person
   *[roles] Who edits scenarios and workflows
  }
console-policy-key = { $key ->
    [ask_above] Ask if the record's sum is above
    [four_eyes_above] A second person is needed if the sum is above
    [sum_jump] Ask twice if the sum changes
    [records_per_batch] Changes in one batch, at most
    [writes_per_day] Changes for one person a day, at most
    [undo_for] A change can be undone with a button for
    [remind_lead_after] The lead is reminded after
    [rates] Rates of currencies
    [critical_fields] Fields that always take a card
    [ask_methods] Acts that always take a card
    [ask_people] People for whom everything takes a card
    [open_methods] Opened acts (closed by default)
    [refuse_methods] Forbidden to everybody
    [halt_on_block] A plan stops at its first step that asks
    [read_linked_customers] Customers of one's own deals may be read
    [delete_own_comments] One's own comments may be deleted
    [open_kinds] Kinds of acts
    [http_hosts] Sites
    [http_private_hosts] Of these, inside the network
    [mongo_collections] Collections of the Mongo database
    [telegram_chats] Telegram chats
    [event_handler_hosts] Where events of the portal may be sent
    [tokens_per_month] Tokens a month
    [money_per_month] Money a month
    [prices] Prices of models for a million tokens (read / written)
    [budget_people] Limits of single people
    [edit] Edit: { $name }
   *[publish] Publish: { $name }
  }
console-policy-then = { $then ->
    [ask] card
    [ask_twice] card, two taps
    [lead] a lead decides
    [two_people] two people decide
   *[refuse] forbidden
  }
console-policy-when = { $name ->
    [method] act: { $words }
    [entity] { $words }
    [field] changes { $words }
    [person] asked by { $words }
    [role] asked by { $words }
    [mode] mode: { $words }
    [times] the sum changes { $words } times or more
   *[above] sum above { $words }
  }
console-policy-word = { $word ->
    [yes] yes
    [no] no
    [deal] deals
    [lead] leads
    [contact] contacts
    [company] companies
    [task] tasks
    [quote] quotes
    [shadow] shadow
    [canary] canary
    [full] full
    [telegram] messages in Telegram
    [file] files
    [http] requests to sites
    [mongo] Mongo database
    [schedule] schedules
   *[other] { $word }
  }
console-policy-opened = as it was opened
console-policy-in-file = in the file now
