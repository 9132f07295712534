"""Nobody else gets at a spool, and the agent knows by it whether its process lives."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from tensortap._spool import layout
from tensortap._spool.folder import SpoolError, make_root
from tensortap._spool.spool import Spool

_NOBODY = 65534
_AWAY_S = 10


def _link(root: Path) -> None:
    elsewhere = root.with_name("elsewhere")
    root.rename(elsewhere)
    root.symlink_to(elsewhere)


def _give_away(root: Path) -> None:
    os.chown(root, _NOBODY, _NOBODY)


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (_link, "is a symbolic link"),
        (_give_away, "belongs to user 65534 and not to this one, 0"),
        (lambda root: root.chmod(0o777), "may be written by other users (mode 0777)"),
        (lambda root: root.chmod(0o720), "may be written by other users (mode 0720)"),
    ],
)
def test_a_root_that_another_user_can_write_is_refused(spoil: Callable[[Path], None], fault: str, tmp_path: Path) -> None:
    if spoil is _give_away and os.geteuid() != 0:
        warnings.warn("only root can give a folder to a second user: that is not tried", stacklevel=1)
        return
    root = tmp_path / "tensortap-1000"
    make_root(root)
    assert root.stat().st_mode & 0o777 == 0o700
    spoil(root)
    with pytest.raises(SpoolError) as refused:
        Spool(root)
    said = str(refused.value)
    assert all(part in said for part in (str(root), fault, "remove it", "TENSORTAP_SPOOL"))
    assert not list(root.iterdir())


def test_a_file_in_the_way_of_the_root_is_told(tmp_path: Path) -> None:
    (tmp_path / "root").touch()
    with pytest.raises(SpoolError, match="make the folder of spools .*root.*TENSORTAP_SPOOL"):
        make_root(tmp_path / "root")


def _is_held(folder: Path) -> bool:
    with (folder / "header").open("r+b") as header:
        try:
            fcntl.flock(header, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


_LIVES = "import sys; from pathlib import Path; from tensortap._spool.spool import Spool; s = Spool(Path(sys.argv[1])); print(s.folder, flush=True); sys.stdin.read()"


def test_a_process_holds_its_header_until_it_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", _LIVES, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        folder = Path(child.stdout.readline().strip())
        assert _is_held(folder)
        child.kill()
        child.wait()
        assert not _is_held(folder)


def test_a_child_that_lets_go_leaves_the_header_to_its_parent(tmp_path: Path) -> None:
    parents = Spool(tmp_path)
    child = os.fork()
    if child == 0:
        parents.abandon()
        os._exit(0)
    os.waitpid(child, 0)
    assert _is_held(parents.folder)
    parents.close()
    assert not _is_held(parents.folder)


@pytest.mark.parametrize("agents_ns", [1, 1 << 62], ids=["long ago", "far ahead"])
def test_an_agent_is_seen_whatever_its_clock_says(agents_ns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    own = Spool(tmp_path)
    assert not own._look_at_agent(), "none has ever looked"
    with (own.folder / "header").open("r+b") as header:
        header.seek(layout.AGENT_OFFSET)
        header.write(struct.pack("<Q", agents_ns))
    own.heartbeat()
    now += _AWAY_S - 1
    assert own._look_at_agent()
    now += 2
    assert not own._look_at_agent(), "it has not looked again"
    own.close()
