# Standing orders: what the bot does by itself, at a time, when something changes, when nothing happens.
menu-orders = What I do by your standing orders
order-field = { $field ->
    [STAGE_ID] stage
    [STATUS_ID] stage
    [CATEGORY_ID] funnel
    [OPPORTUNITY] sum
    [CURRENCY_ID] currency
    [ASSIGNED_BY_ID] responsible person
    [RESPONSIBLE_ID] responsible person
    [CLOSEDATE] closing date
    [SOURCE_ID] source
    [COMPANY_ID] company
    [STATUS] state
    [DEADLINE] deadline
    [new] a new record
   *[other] { $field }
}
order-when-changes = { $records }: { $fields }{ $condition ->
    [none] {""}
   *[other] {" "}(if { $condition })
}
order-when-quiet = { $records }: { $days ->
    [one] { $days } day
   *[other] { $days } days
} with nothing happening
order-do-report = the report “{ $title }”
order-do-propose = { $doing ->
    [none] I propose an action on a card
   *[other] I propose on a card: “{ $doing }”
  }
order-do-text = { $to ->
    [owner] I write to those responsible: “{ $text }”
   *[me] I send “{ $text }”
}
order-do-tell = { $to ->
    [owner] I write to those responsible
    [both] I write to you and to those responsible
   *[me] I write to you
}
orders-listed = { $count ->
    [0] There are no standing orders. Say, for example: “every Monday at 9 the report about the team” or “tell me if the sum of the deal Romashka changes”.
   *[other] Your standing orders:
}
orders-elsewhere = I show standing orders only in our private chat
order-line = { $number }. { $when } → { $what }. Until { $until }{ $state }{ $fired ->
    [0] {""}
   *[other] . It came { $fired } times
}
order-next = . Next time: { $moment }
order-paused = . Paused: { $why }
order-why = { $why ->
    [person] as you asked
    [restored] the bot was restored from a backup
    [owner_left] the person who gave it has no access to the bot any more
    [unclear] I can no longer read what it is about: a stage, field or record was renamed or deleted
    [closed] the portal does not give these data any more
    [often] it came too often in one day
   *[other] it could not be carried out because of an error
}{ $detail ->
    [none] {""}
   *[other] {" "}({ $detail })
}
order-added = The order stands: { $when } → { $what }. Until { $until }. All orders: /orders
order-changed = The order is changed: { $when } → { $what }. Until { $until }
order-person-paused = The order is paused: { $when } → { $what }
order-was-resumed = The order works again: { $when } → { $what }
order-was-removed = The order is removed: { $when } → { $what }
order-expired = The time of this order is over, I watch no more: { $when } → { $what }. Give it again if you need it
order-was-paused = { $who ->
    [none] The order
   *[other] The order ({ $who })
} is paused: { $when } → { $what }. Why: { $why }. To mend it, remove it and say it again, or press “Resume” when the reason is gone
order-missed = I could not carry out an order: for three hours the portal gave no data ({ $when } → { $what })
order-now = ⏰ By your order: { $when }
order-late = ⏰ By your order: { $when }. I come late: at that time I was not at work
order-says = { $text }
order-news = 🔔 By your order: { $when }
order-news-owner = 🔔 { $who } asks you to look: { $when }
order-proposes = 🔔 By your order: { $when }. I propose:
order-not-proposed = “{ $title }”: not proposed. { $why }
order-gone = There is no such order any more. All orders: /orders
order-so-already = That is so already
order-too-many = You have { $most } orders already, more are not possible. Remove some: /orders
order-past = That time is over. For when should it be?
order-pause-one = ⏸ { $number ->
    [0] Pause
   *[other] Pause { $number }
}
order-resume-one = ▶ { $number ->
    [0] Resume
   *[other] Resume { $number }
}
order-remove-one = ✖ { $number ->
    [0] Remove
   *[other] Remove { $number }
}
orders-restored = The bot was restored from a backup of { $at }. These orders are paused: say which go on
order-refused-unclear = I see no record or report that this order is about, or they are not yours. Say in other words what it is about
order-refused-closed = The portal does not give these data, so I could not carry out such an order
order-refused-later = The portal gives no data just now, so nothing was done. Try again a little later
order-refused-unread = I could not check the order, so nothing was done. Try again a little later
order-refused-past = That time is over. For when should it be?
order-refused-gone = There is no such order. All orders: /orders
order-refused-many = You have too many orders already. Remove some: /orders
order-refused-change = This order cannot be changed that way: remove it and give a new one
which-order = Which standing order do you mean?
