"""Python imports this at its start, before the program: it keeps what is printed, begins the attach, then runs the sitecustomize that it hides.

Nothing here may cost time or fail: it runs in every Python process below `tensortap run`.
"""

import sys

import tensortap_boot

tensortap_boot.enter()
tensortap_boot.run_hidden("sitecustomize", sys.modules[__name__])
