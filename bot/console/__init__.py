"""The console: pages in a browser for the people who may use the bot. It shows and submits; whoever decides is the gate, as everywhere."""
