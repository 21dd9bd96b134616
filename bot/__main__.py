"""The commands are in bot/cli."""

from bot.cli.app import main

if __name__ == "__main__":
    main()
