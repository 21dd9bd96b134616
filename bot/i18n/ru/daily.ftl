# Daily help: /today, digest, evening summary, reminders.
today-meetings = Встречи сегодня
today-calls = Звонки
today-todos = Дела
today-no-next-step = Сделки без следующего шага
today-overdue-deals = Сделки с прошедшей датой закрытия
today-idle = Сделки без движения 7 дней и дольше
today-team = Команда
daily-digest = ☀️ Доброе утро! { $day }
daily-free = На сегодня ничего срочного: ни просроченного, ни закрывающегося. Хорошего дня!
# Below the numbers of the team.
daily-free-own = У вас самих на сегодня ничего срочного.
daily-unread = ⚠️ Битрикс24 не показал: { $lists }.
daily-lost = Утренней сводки сегодня не будет: Битрикс24 не ответил. Попробуйте позже: /today
today-elsewhere = Дела на сегодня личные: посмотрите их в личном чате со мной.
today-unreachable = Битрикс24 сейчас не отвечает, поэтому показать дела не могу. Попробуйте позже.
today-closed = Дела показать не могу: { $why ->
    [tariff] { portal-error-tariff }
    [unpaid] { portal-error-unpaid }
    [blocked] { portal-error-blocked }
   *[deleted] { portal-error-deleted }
  }
today-refused = Битрикс24 отказал в чтении ваших дел. Сообщите администратору.
daily-off = Отключить: /settings
daily-more = и ещё { $count }
daily-until = ответ до { $at }
daily-team-line = просрочено { $overdue }, на сегодня { $due }, закрываются { $closing }, без движения { $idle }
daily-evening = 🌙 Итог дня: { $day }
daily-evening-nothing = Сегодня через меня в Битрикс24 ничего не меняли.
daily-evening-person = { $name } — { $count ->
    [one] { $count } изменение
    [few] { $count } изменения
   *[other] { $count } изменений
}
daily-evening-waiting = Ждёт решения: { $count }
daily-evening-unknown = Исход неизвестен, проверьте: { $count }
reminder-set = ⏰ Напомню { $when }:
reminder-told = { $what ->
    [moved] ⏰ Перенесено, напомню { $when }
    [dropped] ✖ Напоминание удалено
   *[set] ⏰ Напомню { $when }
}{ $texted ->
    [yes] : { $text }
   *[no] {""}
}
reminder-due = ⏰ Напоминание:
reminder-late = ⏰ Напоминание на { $when } (бот не работал):
reminder-moved = ⏰ Отложено, напомню { $when }:
reminder-dropped = ✖ Напоминание удалено:
reminder-list = Напоминания
reminder-none = Напоминаний нет. Напишите, например: «напомни в пятницу в 11 позвонить Ромашке».
reminder-elsewhere = Напоминания личные: посмотрите их в личном чате со мной.
reminder-past = Это время уже прошло. На когда поставить напоминание?
which-reminder = Какое напоминание вы имеете в виду?
reminder-gone = Такого напоминания уже нет. Что ждёт: /reminders
reminder-too-many = Напоминаний уже слишком много. Удалите лишние: /reminders
toast-reminder-dropped = Удалено
toast-reminder-moved = Отложено
toast-reminder-gone = Этого напоминания уже нет
button-reminder-drop = ✖ Удалить
button-reminder-hour = Через час
button-reminder-morning = Завтра в 9
verb-add-reminder = Поставить напоминание
verb-update-reminder = Изменить напоминание
menu-reminders = Напоминания
