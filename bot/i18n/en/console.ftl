# The command /console and the frame of the console in the browser.
menu-console = Open the console in the browser
console-off = This installation has no console.
console-private-only = I send the link to the console into the private chat only: write /console to me there
console-link =
  Log in to the console: { $url }

  The link works for 5 minutes and only once. Do not pass it on: whoever opens it first is logged in as you.
console-closed = Done: you are logged out of the console in all browsers.
console-entered = 🖥 Somebody logged in to the console as you. If it was not you, write /console close, which ends all logins.
console-login-title = Sdelka console
console-login-start = To log in, write /console to the bot in Telegram and open the link that it sends.
console-login-press = Press the button to log in. The link works once.
console-login-button = Log in
console-login-wrong = The link does not fit: it is too old or not complete. Write /console to the bot for a new one.
console-login-used = This link was used. Write /console to the bot for a new one. If it was not you, write /console close.
console-login-unavailable = The database does not answer now. Try again in a minute.
console-login-nowhere = There is no such page.
console-login-fast = Too many pages within a minute. Wait a little and load this one again.
console-login-many = Too many pages are open. Close some and load this one again.
console-skip = To the content
console-menu = Menu
console-account = Account
console-theme = Light or dark
console-logout = Log out in all browsers
console-role = { $role ->
    [admin] administrator
    [lead] head of sales
   *[other] manager
  }
console-back = To the first page
console-not-found = There is no such entry, or you may not see it.
console-cannot-show = This cannot be shown now.
console-no-database = The database does not answer now. Nothing is lost: try again.
console-damaged = Records of the journal are damaged and cannot be read. An administrator should run sdelka journal verify.
console-failed = It did not work. Reload the page; if it happens again, tell an administrator.
console-today = Today
console-duration = { $unit ->
    [seconds] { $value } s
    [minutes] { $value } min
   *[hours] { $value } h
  }
console-less-than = less than { $least }
console-no = No
console-kept = This browser has a text that was not saved, { $moment }.
console-kept-not = The browser keeps no copy of the text: save the draft more often.
console-kept-restore = Restore
console-kept-drop = Delete
console-kept-stay = Stay
console-kept-forget = This browser has texts of definitions or of the policy that were not saved. They are deleted when you log out.
