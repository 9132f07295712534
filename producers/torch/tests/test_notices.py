"""Sentences on stderr: once, and never an error."""

from __future__ import annotations

import io
import sys

import pytest

from tensortap._session.notices import Notices


def test_each_sentence_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    notices = Notices(3)
    for sentence in ("a", "b", "a"):
        notices.say(sentence)
    assert capsys.readouterr().err == "tensortap: rank 3: a\ntensortap: rank 3: b\n"


def test_a_process_without_stderr_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    for stream in (None, closed):
        monkeypatch.setattr(sys, "stderr", stream)
        Notices().say("nobody hears this")
