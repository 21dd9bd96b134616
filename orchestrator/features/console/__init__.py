"""The command /console, with which a person gets into the console of the browser, and out of it everywhere."""
