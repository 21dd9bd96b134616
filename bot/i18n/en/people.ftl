# Who may use the bot: invitations, requests of strangers, preferences.
people-welcome = Hello, { $name }! I help with Bitrix24: write in plain words what should be done. Changes that matter I show first and ask.

    { people-standing }

    Try one of these:
people-help = { help }

    { people-standing }

    Try one of these:
people-standing =
    Your role: { $role ->
        [admin] administrator — you decide about any card and about access
        [lead] head — you see everybody's records and decide about their cards
       *[manager] manager — you work with your own records
    }.
    { $mode ->
        [shadow] As long as this is shadow mode, I send nothing to Bitrix24 and read no deals: I show what I would do.
        [canary] This is careful mode: I read and create, and change nothing that exists.
       *[full] This is full mode: changes are made, those that matter after you confirm.
    }
people-settings = Settings. Press to switch.
people-language = Which language shall I speak?
people-private-only = Settings are changed in the private chat with me.
button-people-digest = { $state ->
    [on] ☀️ Morning digest: switch off
   *[off] ☀️ Morning digest: switch on
}
button-people-evening = { $state ->
    [on] 🌙 Evening summary: switch off
   *[off] 🌙 Evening summary: switch on
}
button-people-dark = { $state ->
    [on] 🌙 Dark pictures of reports: switch off
   *[off] 🌙 Dark pictures of reports: switch on
}
button-people-alerts = { $state ->
    [on] 🔔 Alerts about my deals: switch off
   *[off] 🔔 Alerts about my deals: switch on
}
button-people-ru = { $chosen ->
    [yes] ✓ Русский
   *[no] Русский
}
button-people-en = { $chosen ->
    [yes] ✓ English
   *[no] English
}
people-link-wrong = This link does not work. Ask your administrator for a new one.
people-link-used = This link has been used. Ask your administrator for a new one.
people-link-expired = This link has expired. Ask your administrator for a new one.
people-link-often = Too many tries. Try again in an hour, or ask your administrator for a new link.
people-joined = { $name } now works with me: { $role ->
    [admin] administrator
    [lead] head
   *[manager] manager
}, employee no. { $employee } in Bitrix24, Telegram ID { $id }.{ $second ->
    [yes] {" "}⚠️ This employee had access already: Telegram { $others }.
   *[no] {""}
}
people-second = ⚠️ Employee no. { $employee } of Bitrix24 ({ $who }) has access already: Telegram { $others }. Let in one more Telegram account as the same employee?

    Asking: { $name }, ID { $id }. Role: { $role ->
        [lead] head
       *[manager] manager
    }. A name proves nothing: first ask the employee whether this ID is theirs.
people-second-account = ⚠️ A second Telegram account was connected to your employee record: { $name }, ID { $id }. If this is not you, tell your administrator at once.
people-revoke = Take access away? { $name }, ID { $id }. Open cards of this person will close.
people-taken-back = Access taken away: { $name }, ID { $id }. Decided by { $who }.
people-is-out = ID { $id } has no access any more.
people-only-file = { $name }: access was given in the access file and can be taken away only there.
people-asks = Asks for access: { $name }, ID { $id }.

    Anybody can choose their name in Telegram: it proves nothing. Ask this person yourself whether the ID{ $named ->
        [yes] {" "}and the @username are
       *[no] {" "}is
    } theirs, and only then choose a role.
people-asks-again = { people-asks }

    Bitrix24 did not confirm the employee: try again now or later.
people-which = { $name }, ID { $id }, will join as { $role ->
        [lead] head
       *[manager] manager
    }. Who is it in Bitrix24?{ $pages ->
        [1] {""}
       *[other] {" "}Page { $page } of { $pages }.
    }
people-declined = No access for { $name }, ID { $id }. Decided by { $who }.
people-is-in = { $name } is on the list already.
button-people-as-manager = Let in as manager
button-people-as-lead = Let in as head
button-people-decline = Do not let in
button-people-more = More ▸
button-people-back = ◂ Back
button-people-taken = { $label } · has access already: Telegram { $telegram }
button-people-second = Yes, a second account of this employee
button-people-revoke = Take access away
button-people-remove = Yes, take access away
button-people-keep = Leave access
people-gone-portal = { $name } has no access any more: Bitrix24 lists this employee as dismissed. Open cards are closed.
people-gone-admin = { $name } has no access any more: an administrator decided so. Open cards are closed.
people-file-taken = ⚙️ The list of people has changed and is in force. People in the file: { $count }.
people-file-faulty = ⚠️ A mistake in the access file; the old list stays in force: { $faults }
people-returned-admins = { $name } has access again: Bitrix24 lists this employee as working again.
people-returned = Welcome back! You have access again.
people-lost-portal = Your access is closed: Bitrix24 does not list you as a working employee any more.{ $cards ->
    [0] {""}
    [one] {" "}{ $cards } card that waited for a decision is closed.
   *[other] {" "}{ $cards } cards that waited for a decision are closed.
} If this is a mistake, turn to your administrator.
people-lost-admin = An administrator closed your access.{ $cards ->
    [0] {""}
    [one] {" "}{ $cards } card that waited for a decision is closed.
   *[other] {" "}{ $cards } cards that waited for a decision are closed.
}
menu-language = Language
menu-settings = Settings: digests, alerts, language
