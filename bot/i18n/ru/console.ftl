# The command /console and the frame of the console in the browser.
menu-console = Открыть консоль в браузере
console-off = Консоль в этой установке не включена.
console-private-only = Ссылку на консоль я присылаю только в личный чат: напишите мне туда /console
console-link =
  Вход в консоль: { $url }

  Ссылка действует 5 минут и только один раз. Никому её не пересылайте: кто откроет её первым, войдёт под вашим именем.
console-closed = Готово: во всех браузерах вы вышли из консоли.
console-entered = 🖥 В консоль вошли под вашим именем. Если это были не вы, напишите /console close — и все входы закроются.
console-login-title = Консоль Sdelka
console-login-start = Чтобы войти, напишите боту в Telegram /console и откройте ссылку, которую он пришлёт.
console-login-press = Нажмите кнопку, чтобы войти. Ссылка сработает один раз.
console-login-button = Войти
console-login-wrong = Ссылка не подходит: она устарела или неполная. Напишите боту /console, он пришлёт новую.
console-login-used = По этой ссылке уже вошли. Напишите боту /console, он пришлёт новую. Если входили не вы, напишите /console close.
console-login-unavailable = База данных сейчас не отвечает. Попробуйте через минуту.
console-login-nowhere = Такой страницы нет.
console-login-fast = Слишком много страниц за минуту. Подождите немного и обновите эту.
console-login-many = Открыто слишком много страниц. Закройте несколько и обновите эту.
console-skip = К содержанию
console-menu = Меню
console-account = Учётная запись
console-theme = Светлая или тёмная тема
console-logout = Выйти во всех браузерах
console-role = { $role ->
    [admin] администратор
    [lead] руководитель
   *[other] менеджер
  }
console-back = На первую страницу
console-not-found = Такой записи нет, или вам её не видно.
console-cannot-show = Это сейчас показать нельзя.
console-no-database = База данных сейчас не отвечает. Ничего не потеряно: попробуйте ещё раз.
console-damaged = Записи журнала повреждены, и прочитать их нельзя. Администратору нужно запустить sdelka journal verify.
console-failed = Не получилось. Обновите страницу; если повторится, сообщите администратору.
console-today = Сегодня
console-duration = { $unit ->
    [seconds] { $value } с
    [minutes] { $value } мин
   *[hours] { $value } ч
  }
console-less-than = меньше { $least }
console-no = Не надо
console-kept = В этом браузере есть несохранённый текст, { $moment }.
console-kept-not = Браузер не сохраняет копию текста: сохраняйте черновик чаще.
console-kept-restore = Восстановить
console-kept-drop = Удалить
console-kept-stay = Остаться
console-kept-forget = В этом браузере есть несохранённые тексты определений или политики. При выходе они будут удалены.
