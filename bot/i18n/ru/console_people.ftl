# The page of people in the console.
console-people = Люди
console-people-who = Кому бот отвечает
console-people-invite = Пригласить сотрудника
console-people-invitations = Неиспользованные приглашения
console-people-no-invitations = Открытых приглашений нет.
console-people-tokens = Доступ программ (HTTP API)
console-people-column = { $column ->
    [name] Имя
    [role] Роль
    [sees] Чьи записи видит
    [mode] Режим
    [place] Язык и пояс
    [lead] Руководитель
    [last] Последнее в чате
   *[more] Действия
  }
console-people-account = Telegram { $telegram }{ $known ->
    [yes] {" "}· сотрудник №{ $employee }
   *[no] {""}
  }
console-people-others = ещё Telegram: { $others }
console-people-dismissed = { $known ->
    [yes] уволен в Битрикс24 с { $since }
   *[no] без доступа
  }
console-people-listed = { $fixed ->
    [yes] из файла доступа
   *[no] по приглашению
  }
console-people-sees = { $sees ->
    [all] все
   *[own] свои
  }
console-people-sees-some = свои и ещё: { $people }
console-people-mode = { $mode ->
    [shadow] теневой: только планы
    [canary] осторожный
   *[full] полный
  }
console-people-rights = записи: { $sees } · режим: { $mode }
console-people-locale = { $locale ->
    [en] английский
   *[ru] русский
  }
console-people-away = в отъезде до { $until }{ $named ->
    [yes] , вместо: { $deputy }
   *[no] {""}
  }
console-people-employee = сотрудник №{ $number }
console-people-what = Что может
console-people-what-of = Что может { $name }
console-people-what-why = По действующим правилам, со своими записями. Другие значения и чужие записи могут решаться строже.
console-people-end = Забрать доступ
console-people-end-of = Забрать доступ: { $name }
console-people-invited-by = пригласил: { $name }
console-people-until = { $over ->
    [yes] срок истёк { $expires }
   *[no] действует до { $expires }
  }
console-people-withdraw = Отозвать
console-people-withdraw-sure = Отозвать приглашение? По ссылке больше никто не войдёт.
console-people-withdraw-yes = Да, отозвать
console-people-not-yours = Не получилось: этот доступ меняется только в файле доступа или у вас больше нет права.
console-people-ended = Записано, подействует через секунду.
console-people-customers = пишут клиенты
console-people-no-approval = не подтверждает карточки
console-people-close = Закрыть
console-people-outcome = { $outcome ->
    [alone] Сам
    [card] С карточкой, которую подтверждает сам
    [lead] С карточкой, которую подтверждает руководитель
    [two_people] С карточкой, которую подтверждает второй человек
    [planned] Только план: ничего не отправляется
   *[refused] Не может
  }
console-people-act = { $act ->
    [read-deal] прочитать сделку
    [add-deal] создать сделку
    [rename-deal] переименовать сделку
    [move-deal] перевести сделку на другую стадию
    [sum-deal] изменить сумму на десятую часть (100 000 → 110 000)
    [sum-deal-large] изменить сумму дорогой сделки (4,9 → 5 млн)
    [sum-deal-jump] изменить сумму в 10 раз
    [assign-deal] передать сделку другому
    [add-lead] создать лид
    [rename-contact] переименовать контакт
    [comment] написать комментарий в сделке
    [task-other] поставить задачу другому
   *[delete-deal] удалить сделку
  }
console-people-employee-field = Сотрудник в Битрикс24
console-people-works = Ссылка действует
console-people-hours = { $hours ->
    [24] сутки
    [48] двое суток
    [168] неделю
   *[720] 30 дней
  }
console-people-second = Да, это второй Telegram того же сотрудника
console-people-taken = ⚠️ У этого сотрудника уже есть доступ: { $names }.
console-people-choose = Выберите сотрудника.
console-people-confirm-second = У сотрудника уже есть доступ. Если нужен второй Telegram, отметьте это.
console-people-make = Сделать ссылку
console-people-cancel = Отмена
console-people-unfit = { $known ->
    [yes] В Битрикс24 этот сотрудник уволен. Приглашение не сделано.
   *[no] Битрикс24 не подтвердил этого сотрудника. Приглашение не сделано, попробуйте ещё раз.
  }
console-people-no-bot = Telegram сейчас не отвечает, а без него не узнать имя бота для ссылки. Приглашение не сделано.
console-people-no-telegram = Бот работает без Telegram, приглашать некуда.
console-people-no-portal = Битрикс24 сейчас не отвечает, список сотрудников не получен.
console-people-link = Ссылка для сотрудника: { $name }
console-people-link-field = Ссылка
console-people-link-once = Передайте её только этому сотруднику. Она сработает один раз и до { $expires }; после закрытия окна её больше не увидеть.
console-people-copy = Скопировать
console-people-copied = Скопировано
