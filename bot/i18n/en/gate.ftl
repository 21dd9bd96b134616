# Why the gate refused or asks. Codes: orchestrator/gate/call/reasons.py; a test compares them with this file.

## Refusals
gate-method-odd = I do not understand what to do in Bitrix24. Say it in other words
gate-method-unknown = I cannot do this in Bitrix24. Say in other words what you want to have in the end
gate-params = The parameters cannot be read: { $why }
what-to-do = { $doing ->
    [none] {""}
   *[other] : { $doing }
  }
what-is-called = { $called ->
    [none] {""}
   *[other] : { $called }
  }
gate-param-unknown = Could not { $doing ->
    [none] do it
   *[other] { $doing }
  }: there is no such field{ what-is-called }{ $titles ->
    [none] {""}
   *[other] . Similar: { $titles }
  }
gate-filter-field = Searching by this field is not possible: these records have no such field{ $titles ->
    [none] {""}
   *[other] . Like it: { $titles }
  }
gate-param-missing = Something is missing{ what-is-called }
gate-param-invalid = I do not understand { $called ->
    [none] one of the values
   *[other] the value of “{ $called }”
  }. Say it in other words, and name a record by its title or number
gate-param-twice = The same is given twice{ what-is-called }
gate-param-reserved = This field may not be set{ what-is-called }
gate-origin = Only the bot itself sets the source mark
gate-responsible = Please name the responsible person
gate-batch-broken = The batch cannot be read
gate-filter-foreign = These records belong to colleagues, and you see only your own
gate-filter-unclear = I cannot search like this: it might show records of others
gate-kind = Actions of this kind are switched off by the administrator
gate-file-path-empty = No file is named
gate-file-path-hidden = I do not touch hidden files: the name begins with a dot
gate-file-path-invisible = The name of the file has an invisible character, so nothing was done
gate-file-path-long = The path of the file is too long
gate-file-path-odd = This name of a file will not do: extra spaces, dots or special characters
gate-file-path-outside = This file is outside the folder set aside for this: there is no access
gate-schedule-person = Only people in a messenger and tokens of the API can have schedules
gate-schedule-when = { $fault ->
    [both] A schedule needs one of them: a moment or a line
    [neither] It is not said when to start
    [zone] There is no such time zone
    [naive] The time zone of the moment to start is missing
    [moment] It is not clear when to start
   *[line] Nothing can be started by this line
  }. Show its author: { $param }
gate-order-unclear = The order is put wrongly, so it was not taken. Say in other words what you need and when
gate-order-unwatched = I cannot watch that. I can tell when this changes: of a deal the stage, funnel, sum, currency, responsible person, closing date, source or company; of a lead the stage, sum, currency, responsible person or source; of a task the state, deadline or responsible person. I can also tell of a new record and of silence
gate-kind-method = I do not know this action. Say in other words what you want to have in the end
gate-kind-params = The request has a mistake, so it was not run. Show its author: { $param }
gate-kind-missing = This action is not set up on this server, tell the administrator ({ $setting })
gate-http-host = The administrator has not opened the address { $host }
gate-mongo-operator = Data from outside has field names that the database would take for orders ({ $names }), so nothing was sent
gate-mongo-collection = The administrator has not opened “{ $collection }” of the database
http-not-sent = The request was not sent: the address is not found or closed, tell the administrator
http-not-reached = The site cannot be reached: nothing was sent. Try again a little later
http-refused = The site refused (code { $status }): { $text }
http-refused-silent = The site refused (code { $status })
http-unreadable = The site's answer could not be read
mongo-not-reached = The database cannot be reached: nothing was changed. Try again a little later
mongo-refused = The database refused: { $text }
mongo-duplicate = The database has an entry with the same values already: none was added
mongo-unusable = The database is set up wrongly, tell the administrator: nothing was sent
mongo-several = Several entries match, and this is for one. Say which one
mongo-too-many = More than 1,000 entries match. Narrow the condition
mongo-changed = The entries were changed in the meantime: others match now, so nothing was done. Try again
mongo-too-long = The entry is too long to be shown whole. Name the fields that you need
gate-closed = This action is switched off by the administrator{ what-to-do }
gate-delete = Deleting is switched off. An administrator can switch it on
# A refusal when not the person but a text that was read asked for the act: “The text of a record asked to delete the deal …”.
foreign-object = { $entity ->
    [activity] {" "}the activity
    [category] {" "}the funnel
    [chat] {" "}the chat
    [checklistitem] {" "}the checklist item
    [comment] {" "}the comment
    [company] {" "}the company
    [contact] {" "}the contact
    [deal] {" "}the deal
    [event] {" "}the calendar event
    [item] {" "}the item
    [lead] {" "}the lead
    [message] {" "}the message
    [productrow] {" "}the products
    [status] {" "}the stage
    [task] {" "}the task
    [user] {" "}the employee
   *[other] {" "}the record
  }{ $title ->
    [none] {""}
   *[other] {" "}“{ $title }”
  }{ $id ->
    [0] {""}
   *[other] {" "}No. { $id }
  }
foreign-act = { $verb ->
    [add] create{ foreign-object }
    [update] change{ foreign-object }
    [delete] delete{ foreign-object }
    [set] replace{ foreign-object }
    [move] move{ foreign-object }
    [complete] complete{ foreign-object }
    [bind] subscribe to events of the portal
    [unbind] unsubscribe from events of the portal
   *[other] do what is closed here
  }
gate-foreign-request = { $source ->
    [message] Text of others
   *[other] The text of a record
  } asked to { foreign-act }; I do not do it
gate-mode = { $mode ->
    [canary] The bot is in careful mode: it reads and creates, but changes nothing
   *[other] This action is not available in this mode
  }
gate-handler = { $host } is not on the list of allowed addresses, so no events go there
gate-needs-application = Subscribing to events works only for a Bitrix24 application, and I am connected by a webhook. To let me tell you of changes of your deals, an administrator makes an outgoing webhook in the portal and puts its token into the settings of the bot: docs/events.md says how
gate-needs-application-other = This works only for a Bitrix24 application, and I am connected by a webhook{ what-to-do }
gate-not-found = { $entity ->
    [user] There is no employee No. { $id }
    [deal] There is no deal No. { $id }: it never was, or it was deleted
    [lead] There is no lead No. { $id }: it never was, or it was deleted
    [contact] There is no contact No. { $id }: it never was, or it was deleted
    [company] There is no company No. { $id }: it never was, or it was deleted
    [task] There is no task No. { $id }: it never was, or it was deleted
   *[other] There is no record No. { $id }: it never was, or it was deleted
}
gate-not-author = Only a comment that you wrote yourself can be changed or deleted
gate-not-yours = { $entity ->
    [deal] Deal
    [lead] Lead
    [contact] Contact
    [company] Company
    [task] Task
   *[other] Record
  } No. { $id } belongs to a colleague, and you have no access to it
gate-unscoped = Only those who see all records may do this
gate-unread = Record No. { $id } could not be read, so nothing was touched
gate-target-unclear = It is not clear which record is meant
gate-already-so = Already so: the record holds these values, nothing was sent
gate-no-user = You have no Bitrix24 user here. Ask the administrator to add one
gate-user-inactive = There is no employee No. { $id }, or they no longer work here, so they cannot be assigned
gate-value-date = { $field }: I do not understand the date “{ $value }”. Name the day, for example 30 November or 2026-11-30
gate-value-year = { $field }: the day “{ $value }” does not fit. It must lie between { $since } and { $until }
gate-value-order = The time of “{ $field }” is earlier than that of “{ $begin }”. Name both again
gate-value-number = { $field }: I do not understand the number “{ $value }”. Write digits without spaces, for example 150000 or 1500.50
gate-value-range = { $field }: “{ $value }” does not fit. It must be a number from { $least } to { $most }
gate-value-stage = This funnel has no { $value ->
    [none] such stage
   *[other] stage “{ $value }”
  }. It has: { $known }
gate-value-choice = { $field }: { $value ->
    [none] that value
   *[other] “{ $value }”
  } is not in the list. There are: { $known }
gate-value-flag = { $field }: I do not understand “{ $value }”. Just say whether to switch it on or off
gate-value-user = { $field }: I find no employee by “{ $value }”. Give the first and the last name
gate-value-id = { $field }: it is not clear which record “{ $value }” is. Name it by its title or number
gate-value-text = { $field }: a text is needed here, not “{ $value }”. Say what to write
gate-value-word = { $field }: I could not write “{ $value }” in the form that the portal understands. Please ask again
gate-value-empty = { $field } is never empty. { $known ->
    [none] Give a value
   *[other] Give one of: { $known }
  }
gate-value-single = { $field }: one value goes here, not several: “{ $value }”. Name one
gate-value-several = { $field }: a list goes here, not “{ $value }”. Say who or what is to be in it
gate-value-currency = { $field }: “{ $value }” is no currency code. Three Latin letters are needed, such as RUB
gate-value-reminder = { $field }: I do not understand “{ $value }”. Say how long before, such as 15 minutes
gate-value-color = { $field }: “{ $value }” is no colour. A colour code is needed, such as #39A8EF
gate-value-digits = { $field }: “{ $value }” has no digits. Write the number in digits
gate-value-zone = { $field }: “{ $value }” is no time zone. A zone such as Europe/Moscow is needed
gate-value-email = “{ $value }” is no e-mail address. It should look like ivan@example.com
gate-value-phone = “{ $value }” is no phone: it has no digits. Write the number in digits
gate-row-discount = { $product ->
    [none] The price
   *[other] “{ $product }”: the price
  } { $price } and the discount { $discount }: is that the price before the discount or after it? { $left ->
    [none] Say which price will be paid
   *[other] If before, { $left } will be paid; if after, { $price }
  }
gate-row-price = The discount { $discount }{ $product ->
    [none] {""}
   *[other] {" "}on “{ $product }”
  }: what will the price be, after the discount? Write it
gate-move-funnel = The funnel cannot change together with other fields. { $id ->
    [0] Write apart: “move the deal to funnel …”
   *[other] Write apart: “move deal { $id } to funnel …”
  } and name the funnel, and the stage if it matters
gate-policy-refuses = The administrator forbids this action{ what-to-do }
gate-rule-refuses = { $why }
gate-cap-batch = The batch makes { $count } changes, { $limit } are allowed at once. Split it
gate-bulk = { $count ->
    [1] A record of a change of many
   *[other] Many records at once: { $count }
}
gate-bulk-limit = There are { $count } records, and above { $limit } a second person approves
gate-bulk-sum = They are worth { $amount } together, and above { $limit } a second person approves
gate-bulk-many = { $count } records fit, and { $limit } at most can be changed at once. Narrow the condition
gate-bulk-none = No record fits this condition
gate-bulk-place = These records have no field { $param }, so I prepare nothing. Say otherwise what should stand there
gate-bulk-nothing = { $other ->
    [0] There is nothing to change: all records found are so already ({ $already })
   *[other] { $already ->
    [0] There is nothing to change: none of the records found can be changed ({ $other }) — no right, deleted or changed since
   *[other] There is nothing to change: { $already } of { $count } records are so already, the others ({ $other }) cannot be changed — no right, deleted or changed since
  }
  }
gate-bulk-method = This is not for many records at once: records inside of Bitrix24 can be changed and added
gate-bulk-field = This cannot be changed in many records at once: { gate-field }. Lists do not show what it holds now, so it could not be put back. Change it record by record
gate-bulk-gone = What this change did is not known any more, or it is not over
gate-bulk-part = The approval does not hold any more
gate-bulk-changed = Changed while the card waited
gate-cap-day = { $limit } changes a day are allowed, { $made } are made already. Do the rest tomorrow or ask an administrator
currency-has = { $has ->
    [RUB] roubles
    [USD] dollars
    [EUR] euros
    [GBP] pounds
    [CNY] yuan
    [KZT] tenge
    [BYN] Belarusian roubles
    [UAH] hryvnias
    [UZS] soms
    [TRY] liras
    [AED] dirhams
   *[other] { $has }
  }
currency-named = { $named ->
    [RUB] roubles
    [USD] dollars
    [EUR] euros
    [GBP] pounds
    [CNY] yuan
    [KZT] tenge
    [BYN] Belarusian roubles
    [UAH] hryvnias
    [UZS] soms
    [TRY] liras
    [AED] dirhams
   *[other] { $named }
  }
currency-to = { $named ->
    [RUB] roubles
    [USD] dollars
    [EUR] euros
    [GBP] pounds
    [CNY] yuan
    [KZT] tenge
    [BYN] Belarusian roubles
    [UAH] hryvnias
    [UZS] soms
    [TRY] liras
    [AED] dirhams
   *[other] { $named }
  }
gate-sum-other-currency = { $entity ->
    [deal] Deal
    [lead] Lead
   *[other] Record
  } No. { $id } is in { currency-has }, and you named the amount in { currency-named }. Name it in { currency-has }, or write: “change the currency of { $entity ->
    [deal] deal
    [lead] lead
   *[other] record
  } { $id } to { currency-to } and the amount to { $sum }”
gate-named-other-currency = { $entity ->
    [deal] Deal
    [lead] Lead
   *[other] Record
  } No. { $id } is in { currency-has }, and you named { currency-named }. Convert it and name it in { currency-has }
gate-sum-two-currencies = The new record is in { currency-has }, and you named the amount in { currency-named }. Name one of the two
gate-sum-currency-unknown = The amount was named in { currency-named }, and I do not know the currency of the record. Say more exactly which record you mean
gate-kept-file = Only “Undo” brings a former file back
gate-password = I do not set passwords: the employee or an administrator does that in Bitrix24
gate-access-rights = I do not give rights or access: an administrator does that in Bitrix24
gate-must-read = Only reads are allowed here, and { $method } may change something. Nothing was sent
gate-reference = The answer of another command may not stand here{ what-is-called }
gate-denied-now = This was denied a moment ago, so I do not propose it again
gate-withdrawn = The step was withdrawn, nothing was sent

## Refusals because of one command of a batch
batch-part = { call-of }{ $title ->
    [none] {""}
   *[other] {" "}“{ $title }”
  }{ $number ->
    [0] {""}
   *[other] {" "}No. { $number }
  }
batch-command = { $part_named ->
    [yes] “{ $part_title }”:{" "}
   *[other] {""}
  }
gate-batch-delete = The batch holds a deletion: { $part }. I delete nothing in batches
gate-batch-refused = The batch was not run because of { $part }: { $reason ->
    [gate-already-so] { gate-already-so }
    [gate-bulk-changed] { gate-bulk-changed }
    [gate-bulk-field] { gate-bulk-field }
    [gate-bulk-gone] { gate-bulk-gone }
    [gate-bulk-many] { gate-bulk-many }
    [gate-bulk-method] { gate-bulk-method }
    [gate-bulk-none] { gate-bulk-none }
    [gate-bulk-nothing] { gate-bulk-nothing }
    [gate-bulk-place] { gate-bulk-place }
    [gate-bulk-part] { gate-bulk-part }
    [gate-closed] { gate-closed }
    [gate-handler] { gate-handler }
    [gate-file-path-empty] { gate-file-path-empty }
    [gate-file-path-hidden] { gate-file-path-hidden }
    [gate-file-path-invisible] { gate-file-path-invisible }
    [gate-file-path-long] { gate-file-path-long }
    [gate-file-path-odd] { gate-file-path-odd }
    [gate-file-path-outside] { gate-file-path-outside }
    [gate-kind] { gate-kind }
    [gate-kind-missing] { gate-kind-missing }
    [gate-mongo-collection] { gate-mongo-collection }
    [gate-mongo-operator] { gate-mongo-operator }
    [gate-kind-method] { gate-kind-method }
    [gate-kind-params] { gate-kind-params }
    [gate-schedule-person] { gate-schedule-person }
    [gate-schedule-when] { gate-schedule-when }
    [gate-order-unclear] { gate-order-unclear }
    [gate-order-unwatched] { gate-order-unwatched }
    [gate-http-host] { gate-http-host }
    [gate-kept-file] { gate-kept-file }
    [gate-password] { gate-password }
    [gate-access-rights] { gate-access-rights }
    [gate-mode] { gate-mode }
    [gate-needs-application] { gate-needs-application }
    [gate-needs-application-other] { gate-needs-application-other }
    [gate-not-author] { gate-not-author }
    [gate-not-found] { gate-not-found }
    [gate-not-yours] { gate-not-yours }
    [gate-policy-refuses] { gate-policy-refuses }
    [gate-reference] { gate-reference }
    [gate-rule-refuses] { gate-rule-refuses }
    [gate-named-other-currency] { gate-named-other-currency }
    [gate-sum-currency-unknown] { gate-sum-currency-unknown }
    [gate-sum-other-currency] { gate-sum-other-currency }
    [gate-sum-two-currencies] { gate-sum-two-currencies }
    [gate-target-unclear] { gate-target-unclear }
    [gate-unread] { gate-unread }
    [gate-unscoped] { gate-unscoped }
    [gate-user-inactive] { gate-user-inactive }
    [gate-value-date] { gate-value-date }
    [gate-value-year] { gate-value-year }
    [gate-value-order] { gate-value-order }
    [gate-value-number] { gate-value-number }
    [gate-value-range] { gate-value-range }
    [gate-value-stage] { gate-value-stage }
    [gate-value-choice] { gate-value-choice }
    [gate-value-flag] { gate-value-flag }
    [gate-value-user] { gate-value-user }
    [gate-value-id] { gate-value-id }
    [gate-value-text] { gate-value-text }
    [gate-value-word] { gate-value-word }
    [gate-value-empty] { gate-value-empty }
    [gate-value-single] { gate-value-single }
    [gate-value-several] { gate-value-several }
    [gate-value-currency] { gate-value-currency }
    [gate-value-reminder] { gate-value-reminder }
    [gate-value-color] { gate-value-color }
    [gate-value-digits] { gate-value-digits }
    [gate-value-zone] { gate-value-zone }
    [gate-value-email] { gate-value-email }
    [gate-value-phone] { gate-value-phone }
    [gate-row-discount] { gate-row-discount }
    [gate-row-price] { gate-row-price }
    [gate-move-funnel] { gate-move-funnel }
   *[other] { $text }
  }

## Why your word is needed
gate-field = { $field ->
    [OPPORTUNITY] the amount
    [CURRENCY_ID] the currency
    [TAX_VALUE] the tax
    [PRICE] the price
    [productName] the product name
    [PRODUCT_NAME] the product name
    [productId] the product
    [PRODUCT_ID] the product
    [price] the price
    [quantity] the quantity
    [QUANTITY] the quantity
    [discountTypeId] the kind of discount
    [DISCOUNT_TYPE_ID] the kind of discount
    [discountRate] the discount
    [DISCOUNT_RATE] the discount
    [discountSum] the discount
    [DISCOUNT_SUM] the discount
    [taxRate] the tax
    [TAX_RATE] the tax
    [taxIncluded] the tax in the price
    [TAX_INCLUDED] the tax in the price
    [measureCode] the unit
    [MEASURE_CODE] the unit
    [measureName] the unit
    [MEASURE_NAME] the unit
    [IS_MANUAL_OPPORTUNITY] how the amount is calculated
    [ASSIGNED_BY_ID] the responsible person
    [RESPONSIBLE_ID] the assignee
    [CREATED_BY] who set it
    [ACCOMPLICES] the participants
    [AUDITORS] the observers
    [OBSERVERS] the observers
    [STAGE_ID] the stage
    [STATUS_ID] the stage
    [STATUS] the status
    [CATEGORY_ID] the funnel
    [DEADLINE] the deadline
    [START_TIME] the start time
    [END_TIME] the end time
    [CLOSEDATE] the expected close date
    [BEGINDATE] the start date
    [CLOSED] whether it is closed
    [COMPLETED] whether it is completed
    [COMPANY_ID] the company
    [CONTACT_ID] the contact
    [CONTACT_IDS] the contacts
    [ATTENDEES] the attendees
    [ROWS] the products
    [COMPANY_IDS] the companies
    [PHONE] the phone
    [EMAIL] the e-mail
    [FM] the phone or e-mail
    [DATE_CREATE] date created
    [DATE_MODIFY] date changed
    [PROBABILITY] the probability
    [OPENED] whether everyone sees it
    [GROUP_ID] the workgroup
    [ROWS] the products
    [rows] the products
    [PRODUCT_ROWS] the products
    [productRows] the products
    [IS_PRIMARY] who is the main one
    [ITEMS] the linked contacts or companies
    [items] the linked contacts or companies
    [chat_id] the chat
    [message_id] the message
    [text] the text
    [caption] the caption
    [inline_keyboard] the buttons
    [path] the file
    [collection] the part of the database
    [query] the conditions of the query
    [document] the entry
    [documents] the entries
    [update] the changes
   *[other] the field { $field }
  }
gate-critical = This changes { gate-field }
gate-critical-action = A person always confirms this action
gate-add-sum = It sets { gate-field }
gate-add-person = It goes to another person ({ gate-field })
gate-hands-away = { $who } will not see { $many ->
    [yes] these records
   *[no] { $entity ->
        [deal] this deal
        [lead] this lead
        [contact] this contact
        [company] this company
        [task] this task
        [activity] this activity
       *[other] this record
    }
  } any more: only a lead can take it back
gate-add-stage = The record would not start at the first stage
gate-order-stands = It will work by itself{ $when ->
    [none] {""}
   *[other] , { $when },
} until its time is over or you remove it
gate-schedule-repeats = It will start by itself again and again
gate-file-replaces = What the file holds will be replaced
gate-mongo-many = { $count ->
    [one] This concerns { $count } entry
   *[other] This concerns { $count } entries at once
  }
gate-class-delete = This cannot be undone
gate-class-unlink = This unlinks everything at once
gate-class-config = This changes the portal's settings
gate-sum-by-rows = The amount was entered by hand, and now Bitrix24 will compute it from the products: the former amount is lost
gate-class-money = This changes money
gate-list-passed = The whole list goes to your colleague: { $rows } { $rows ->
    [one] row
   *[other] rows
  }{ $columns ->
    [none] {""}
   *[other] { " " }({ $columns })
  }. They will read it even without rights to these records
gate-class-outward = Other people will see this
gate-http-outward = Data will go to another site
gate-notifies = The people named here will be notified
gate-hidden-link = A link is hidden behind words of the text
gate-binding = This changes where the portal's events go
gate-reference-field = The value comes from another command's answer: { gate-field }
gate-reference-id = Another command's answer decides which record changes
gate-phone-gone = Already removed: { $value } – that change fell out
gate-policy-method = The administrator wants this action confirmed
gate-policy-person = The administrator wants every change by { $name } confirmed
gate-policy-amount = The amount { $amount } is above the limit { $limit }
gate-four-eyes = The amount { $amount } is above { $limit }: a team lead must approve too
gate-rule = { $why }
gate-sum-jump = A sharp change of { gate-field }: { $times } times
gate-sum-steps = Within a day the sum changes { $times } times: { $before } → { $after }
gate-sum-lost = A sharp change of { gate-field }
gate-sum-unnamed = The request names another sum: { $sum } is not in it
gate-call-partner = The record has no such contact: “{ $name }”. The call will be logged with “{ $who }”
gate-call-stranger = { $who ->
    [none] The record has no such customer: No. { $id }
   *[other] The record has no such customer: “{ $who }”
  }
gate-address-foreign = { $who ->
    [none] Customer No. { $id } has no such phone or e-mail: { $value }
   *[other] “{ $who }” has no such phone or e-mail: { $value }
  }
gate-address-nobody = The phone or e-mail is on nobody's card: { $value }
gate-file-field = The file that is there will be replaced. The bot can bring it back if Bitrix24 gives it now (up to 10 MB): { gate-field }
gate-file-lost = The file that is there will be replaced, and the bot cannot bring it back: { gate-field }
gate-sum-currency = The sum becomes one of another currency: { $before } → { $after }
plan-step-missed = { $why ->
    [waiting] The step before this one has not run yet: { $step }
    [denied] The step before this one was denied: { $step }
    [expired] Nobody approved the step before this one: { $step }
    [unknown] Nobody knows whether the step before this one ran: { $step }
    [partly] The step before this one ran only in part: { $step }
    [undone] The step before this one was undone: { $step }
   *[refused] The step before this one did not run: { $step }
}
gate-model-asks = The bot is not sure and asks you to check
gate-undo = Undoing puts the former values back
gate-replaces = Replaces what is there: { gate-field }
gate-no-addition = Changes what is there, it adds nothing new
gate-leaves-out = Named in the request, missing here: { gate-field }
gate-not-ordered = The message gives no order: check whether I understood it
reason-told = So I understood your words
gate-only-asked = This was a question and no order: check whether you want it
gate-not-plain = The message is long, or holds text of others: check it
gate-more-than-ordered = Check each change
gate-beside = Together with the rest of this answer
gate-taint-prose = The bot read other people's text in this conversation: check that exactly this was asked for
gate-taint-target = The bot itself chose record No. { $id }
reason-record-unnamed = The bot itself chose the record “{ $title }” No. { $id }
gate-compared = By the request: { $fits ->
    [none] {""}
   *[other] { $fits } ✓
}{ $missed ->
    [0] {""}
   *[other] { $fits ->
        [none] {""}
       *[other] {" · "}
    }{ $differs } ✗
}
gate-taint-outside = The value does not come from your words: { gate-field }
gate-taint-value = The value comes from text in the CRM: { gate-field }
gate-batch-twice = The same write stands here more than once: { $count } { $count ->
    [one] repetition
   *[other] repetitions
  }
gate-denied-before = This was denied before: { $by }, { $at }

## Created without some of its fields
not-taken = ⚠️ Created, but Bitrix24 did not take: { gate-field }{ $more ->
    [0] {""}
   *[other] {" "}and { $more } more
  }

## Why a batch asks
gate-batch-asks = { batch-command }{ $reason ->
    [gate-add-person] { gate-add-person }
    [gate-add-stage] { gate-add-stage }
    [gate-add-sum] { gate-add-sum }
    [gate-binding] { gate-binding }
    [gate-bulk] { gate-bulk }
    [gate-bulk-limit] { gate-bulk-limit }
    [gate-bulk-sum] { gate-bulk-sum }
    [gate-class-config] { gate-class-config }
    [gate-class-delete] { gate-class-delete }
    [gate-class-unlink] { gate-class-unlink }
    [gate-sum-by-rows] { gate-sum-by-rows }
    [gate-class-money] { gate-class-money }
    [gate-class-outward] { gate-class-outward }
    [gate-list-passed] { gate-list-passed }
    [gate-http-outward] { gate-http-outward }
    [gate-critical] { gate-critical }
    [gate-critical-action] { gate-critical-action }
    [gate-hands-away] { gate-hands-away }
    [gate-hidden-link] { gate-hidden-link }
    [gate-file-replaces] { gate-file-replaces }
    [gate-schedule-repeats] { gate-schedule-repeats }
    [gate-order-stands] { gate-order-stands }
    [gate-mongo-many] { gate-mongo-many }
    [gate-notifies] { gate-notifies }
    [gate-phone-gone] { gate-phone-gone }
    [gate-policy-method] { gate-policy-method }
    [gate-reference-field] { gate-reference-field }
    [gate-reference-id] { gate-reference-id }
    [gate-rule] { gate-rule }
    [gate-call-partner] { gate-call-partner }
    [gate-call-stranger] { gate-call-stranger }
    [gate-address-foreign] { gate-address-foreign }
    [gate-address-nobody] { gate-address-nobody }
    [gate-file-field] { gate-file-field }
    [gate-file-lost] { gate-file-lost }
    [gate-sum-currency] { gate-sum-currency }
    [gate-sum-jump] { gate-sum-jump }
    [gate-sum-lost] { gate-sum-lost }
    [gate-sum-steps] { gate-sum-steps }
    [gate-sum-unnamed] { gate-sum-unnamed }
    [gate-replaces] { gate-replaces }
    [gate-no-addition] { gate-no-addition }
    [gate-leaves-out] { gate-leaves-out }
    [gate-not-ordered] { gate-not-ordered }
    [gate-only-asked] { gate-only-asked }
    [gate-not-plain] { gate-not-plain }
    [gate-more-than-ordered] { gate-more-than-ordered }
    [gate-beside] { gate-beside }
    [gate-taint-prose] { gate-taint-prose }
    [gate-taint-target] { gate-taint-target }
    [gate-compared] { gate-compared }
    [gate-taint-outside] { gate-taint-outside }
    [gate-taint-value] { gate-taint-value }
   *[other] { $text }
  }
