"""One tap of one process.

What an application calls is `session`. Below it, `forwards` hears calls of models, `stepping` begins and ends steps where these, `step_boundaries`
or the application say so, `given` takes what a program gives to be recorded, and `presence` is what of a tap stays in the program between steps.
`making` makes the `recording` of a process as its first step begins: `extent` says how much of a step it records, `hooks` gets into PyTorch for
that, `step_records` writes what lies around a step. What is asked from without comes by `inbox` to `demands`, and from there to `control`,
`tracing` or `debugged`. `standing` and `moments` are conditions of `--when`; `budget`, `thinning` and `left_out` are for a budget.
"""
