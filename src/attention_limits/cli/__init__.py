"""The commands. `jobs` are those of the workflow, `reports` print, `interactive` are those of `interface`."""
