"""A person in this process: by a debugger that attaches, or at the terminal of `tensortap run`. It imports nothing of PyTorch."""
