#!/bin/sh
# `sdelka …` inside the image. The shell is replaced, so that signals reach the bot itself.
set -eu
if [ "${1:-}" = health ]; then
	# Without any of these the HTTP door is closed, and that the process runs is all there is to ask.
	[ -n "${METRICS_TOKEN:-}${HTTP_API_TOKENS:-}${BITRIX_EVENT_TOKEN:-}${TELEGRAM_WEBHOOK_URL:-}" ] || exit 0
	exec /venv/bin/python -c 'import os, urllib.request; urllib.request.urlopen("http://127.0.0.1:" + os.environ["HTTP_PORT"] + "/healthz", timeout=3)'
fi
cd /app
exec /venv/bin/python -m bot "$@"
