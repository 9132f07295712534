"""breakpoint() and post-mortem in any process below `tensortap run`, which lends its terminal to one of them at a time."""

from __future__ import annotations

import json
import os
import pdb
import socket
from contextlib import suppress
from io import StringIO
from types import FrameType, TracebackType
from typing import IO, Any, Final

from tensortap._debug import listening, standing
from tensortap._debug.launched import told_rank

LENDER: Final = "TENSORTAP_TERMINAL"  # the socket of `run`
_MOST_BYTES: Final = 4096
_STOOD: Final = "_tensortap_post_mortem"  # on an exception at which a person has stood
_OURS: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_told: Final[set[str]] = set()


class NoTerminalError(Exception):
    """There is none to lend; the message says why."""


class Loan:
    """The terminal, as long as it is lent: what is typed and what is shown."""

    def __init__(self, where: str) -> None:
        """Wait for it. Raises NoTerminalError."""
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._line.connect(os.environ[LENDER])
            self._line.send(json.dumps({"who": who(), "where": where}).encode()[:_MOST_BYTES])
            self.input, self.output = _streams(self._handed(where))
        except (OSError, KeyError) as error:
            self._line.close()
            raise NoTerminalError(f"tensortap run, which lends its terminal, cannot be reached: {error}") from error
        except NoTerminalError:
            self._line.close()
            raise

    def _handed(self, where: str) -> int:
        while True:
            said, handed, _, _ = socket.recv_fds(self._line, _MOST_BYTES, 1)
            verb, _, rest = said.decode(errors="replace").partition(" ")
            if verb == "take" and handed:
                return handed[0]
            if verb != "wait":
                raise NoTerminalError(rest or "tensortap run has ended")
            standing.say(f"{who()} stands in {where}, and waits for the terminal, which {rest} has")

    def end(self) -> None:
        """Give it back."""
        for one in (self.output, self.input, self._line):
            with suppress(OSError, ValueError):  # `run` may be gone, and the terminal with it
                one.close()


class Prompt(pdb.Pdb):
    """pdb at the terminal that is lent: from where it stops until the program goes on."""

    def __init__(self, where: str = "") -> None:
        """Where it stops first is that place; it knows only the line that comes next."""
        super().__init__(stdin=StringIO(), stdout=StringIO(), nosigint=True, readrc=True)
        self._first = where
        self._loan: Loan | None = None
        self._goes_on = False

    def interaction(self, frame: FrameType | None, traceback: Any, *rest: Any) -> None:
        """Stop here, at the terminal. Without one the program goes on."""
        standing.begins(standing.AT_PROMPT, id(self))
        try:
            if not self._takes(frame, traceback):
                self.set_continue()
                return
            self._goes_on = False
            super().interaction(frame, traceback, *rest)
        finally:
            if self._goes_on or traceback is not None or self._loan is None:
                self._gives_back()

    def setup(self, f: FrameType | None, tb: TracebackType | None) -> Any:
        """Look at the program's frame, where ours lie below it."""
        done = super().setup(f, tb)
        if tb is not None:
            self.curindex = len(self.stack) - 1
        while self.curindex > 0 and _is_ours(self.stack[self.curindex][0]):
            self.curindex -= 1
        self.curframe = self.stack[self.curindex][0]
        self.curframe_locals = self.curframe.f_locals
        return done

    def set_continue(self) -> None:
        """The program goes on, to the next place where it is to stop."""
        self._goes_on = True
        super().set_continue()

    def set_quit(self) -> None:
        """The program is to end here."""
        self._goes_on = True
        super().set_quit()

    def do_EOF(self, arg: str) -> Any:  # noqa: N802  # the name that cmd looks for
        """Go on: the terminal is gone, or Ctrl-D was typed."""
        return self.do_continue(arg)

    def _takes(self, frame: FrameType | None, traceback: TracebackType | None) -> bool:
        if self._loan:
            return True
        where, self._first = self._first or _where(frame, traceback), ""
        try:
            self._loan = Loan(where)
        except NoTerminalError as error:
            _say_once(where, f"{who()} meets a stop in {where}, and goes on: {error}")
            return False
        self.stdin, self.stdout = self._loan.input, self._loan.output
        return True

    def _gives_back(self) -> None:
        standing.ends(standing.AT_PROMPT, id(self))
        loan, self._loan = self._loan, None
        self.stdin, self.stdout = StringIO(), StringIO()
        if loan:
            loan.end()


def at_breakpoint(frame: FrameType) -> None:
    """What breakpoint() does below `tensortap run`, in that frame: a debugger that is attached has it, else the terminal."""
    if listening.is_attached():
        listening.stop_at(frame)
        return
    try:
        Prompt(_where(frame, None)).set_trace(frame)
    except OSError as error:
        standing.say(f"no stop in {_where(frame, None)}: {error}")


def post_mortem(error: BaseException) -> bool:
    """Stand where this was raised, unless somebody stood there already. Whether anybody did."""
    if error.__traceback__ is None or getattr(error, _STOOD, False):
        return False
    with suppress(AttributeError):
        setattr(error, _STOOD, True)
    prompt = Prompt()
    standing.say(f"{who()}: {type(error).__name__}: {error}"[:_MOST_BYTES])
    prompt.reset()
    prompt.interaction(error.__traceback__.tb_frame.f_back, error.__traceback__)  # so that callers are seen, too
    return True


def examine(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """An exception ends the program."""
    if not issubclass(kind, KeyboardInterrupt | SystemExit | GeneratorExit):
        post_mortem(error.with_traceback(traceback))


def who() -> str:
    """This process, in words."""
    rank = told_rank(os.environ)
    return f"process {os.getpid()}" if rank is None else f"rank {rank}, process {os.getpid()}"


def _streams(terminal: int) -> tuple[IO[str], IO[str]]:
    shown = os.dup(terminal)
    return open(terminal, errors="replace"), open(shown, "w", buffering=1, errors="backslashreplace")


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_OURS)


def _where(frame: FrameType | None, traceback: TracebackType | None) -> str:
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    frame = traceback.tb_frame if traceback else frame
    while frame is not None and _is_ours(frame):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}, line {frame.f_lineno}" if frame else "the program"


def _say_once(topic: str, sentence: str) -> None:
    if topic not in _told:
        _told.add(topic)
        standing.say(sentence)

