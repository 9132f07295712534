"""Where an op raised, a person may look, at the terminal of `tensortap run`."""

from __future__ import annotations

import os


def examine(error: BaseException) -> None:
    """Stand there in pdb, unless there is no terminal to be lent."""
    from tensortap._debug import terminal  # which brings pdb, that few need

    if os.environ.get(terminal.LENDER):
        terminal.post_mortem(error)
