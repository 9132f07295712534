"""What one process of a tap holds while it records: its spool, its hooks and the step under way."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from torch import nn

from tensortap._config.filters import Filter
from tensortap._config.settings import Settings
from tensortap._health import thread_stacks, topology
from tensortap._health.heartbeat import Heartbeat
from tensortap._hooks.saved_values import Saver
from tensortap._record import shape_log, unseen
from tensortap._record.call_stacks import Stacks
from tensortap._record.collective_log import CallLog
from tensortap._record.logged import Logged
from tensortap._record.model_roots import Roots
from tensortap._record.noted import body
from tensortap._record.own_time import Clock
from tensortap._record.recorder import Recorder
from tensortap._record.sampled_tokens import TokenLog
from tensortap._record.served_requests import Serving
from tensortap._record.token_sites import TokenSites
from tensortap._record.user_events import Event
from tensortap._session import loaded_parameters, run_info
from tensortap._session.control import Detail
from tensortap._session.demands import Demands
from tensortap._session.extent import Extent
from tensortap._session.hooks import Hooks
from tensortap._session.left_out import LeftOut
from tensortap._session.measures import Measures
from tensortap._session.memory_rows import MemoryRows
from tensortap._session.moments import Moment
from tensortap._session.raw_tensors import RawTensors
from tensortap._session.standing import Standing
from tensortap._session.step_boundaries import Facts
from tensortap._session.step_records import StepRecords
from tensortap._session.unserved import Unserved
from tensortap._spool.spool import Spool
from tensortap._stats.streams import ask_beside_captures

if TYPE_CHECKING:
    from tensortap._session.nan_watch import NanWatch


class Process:
    """The recording of one process. Made anew in a child after a fork."""

    def __init__(
        self,
        settings: Settings,
        wanted: Filter,
        roots: Roots,
        place: topology.Place,
        counts: unseen.Unseen,
        spool: Spool,
        say: Callable[[str], None],
        clock: Clock | None = None,
    ) -> None:
        """It is in nobody's way until it begins. If this raises, the spool is the caller's to close."""
        self._settings, self._roots, self._place, self._spool, self._say = settings, roots, place, spool, say
        self.unseen = counts
        self._define()
        self.recorder = Recorder(settings, wanted, counts, spool, clock)
        self.saver = Saver(self.recorder)
        self.serving = Serving(spool, self.recorder.observer, counts)
        self.tokens = TokenLog(spool, counts)
        self._sites = TokenSites(spool, counts, self.tokens.next_number)
        self.calls = CallLog(spool, self.recorder.lock, Stacks(spool, settings.stacks))
        self._memory = MemoryRows(spool, roots, self.recorder.guard)
        self._measures = Measures(roots, self.recorder.guard)
        self._shape_log = shape_log.opened(settings.shape_log, place.coordinates, place.rank, say)
        self._hooks = Hooks(settings, roots, self.recorder, self._memory.write, self._shape_log, self._sites)
        self._raw = RawTensors(settings, spool, self.recorder, counts, say)
        self._extent = Extent(settings, self.recorder, self._hooks, self._raw, say)
        head = {"run": settings.run, "rank": place.rank, "host": platform.node()}
        self._logged = Logged(spool.folder, head, self.recorder.op_under_way, self.recorder.guard.caught)
        self._records = StepRecords(self.recorder, self._logged, self._raw.then, self._hooks.compiled_parts, say)
        self._unserved = Unserved(settings.spool, settings.segments, say)
        self.demands = Demands(settings, place.rank, spool, self._modules, say, self._tell_written, self.recorder.guard.caught)
        self._heartbeat = Heartbeat(self._beat, partial(self.recorder.guard.caught, "heartbeat"))
        self.standing: Standing | None = None  # these three from when it begins, as far as they are asked for
        self.left_out: LeftOut | None = None
        self.nan_watch: NanWatch | None = None

    def _define(self) -> None:
        """What an agent must know before all else."""
        settings, roots, place, spool = self._settings, self._roots, self._place, self._spool
        model = next(iter(roots), None)
        spool.define("run", run_info.run(settings, place, model) | ({"appends": True} if settings.appends else {}))
        loaded = loaded_parameters.checksums(roots, self.unseen) if settings.task != "structure" else {}
        spool.define("rank", run_info.rank(place, model) | {"epoch": spool.epoch, "parameters": loaded})

    def begin(self) -> None:
        """Get into the program, as far as that is not done step by step. If this raises, close undoes it."""
        settings = self._settings
        for difference in settings.differences:
            self.unseen.count(unseen.SETTING_NOT_HONOURED, difference)
        if settings.when:
            self.standing = Standing(settings.when, self._measures, self._say)
        if settings.budget is not None and settings.task != "structure":
            self.left_out = LeftOut(self.recorder, self._left_out)
        if settings.on_nan:
            from tensortap._session.nan_watch import NanWatch  # here, as what most programs never use takes its time to import

            self.nan_watch = NanWatch(self.recorder, self.serving, self._place.rank, self._say)
        self._heartbeat.start()
        self.demands.begin()  # which may wait for minutes
        if settings.logging:
            self._logged.install()

    def checksums(self) -> dict[str, str]:
        """Those of the parameters as they are now, by name."""
        return loaded_parameters.checksums(self._roots, self.unseen)

    @property
    def is_in_step(self) -> bool:
        """Whether a step is under way that is recorded."""
        return self._records.step >= 0

    def idle(self, is_idle: bool) -> None:
        """Whether no step is under way from here on, be it one that is recorded or not."""
        self._spool.header.idle(time.time_ns() if is_idle else 0)

    def moment(self, step: int, facts: Facts, phase_ahead: Callable[[], str]) -> Moment:
        """What is known of a step that begins."""
        return Moment(step, facts, phase_ahead, self._measures)

    def begin_step(self, step: int, asked: Detail | None = None, *, wanted: bool = True) -> None:
        """A step begins that the settings want, or that is recorded only in the detail that is asked for."""
        detail = asked or self._extent.after_overflow(step)
        if not self._extent.is_now(detail, wanted):
            self.uninstall()
            self._extent.become(detail, wanted)
        self._raw.begin_step(step)
        self.install()
        if self.nan_watch:
            self.serving.rows = []
            self.nan_watch.begin_step()
        recorder = self.recorder
        with recorder.lock:
            recorder.micro_step = 0
            recorder.backwards.clear()
            recorder.observer.forget()
            recorder.walker.forget()
            self._memory.begin_step()
            self._hooks.begin_step()
            self.serving.served = ()
            self._records.begin(step)

    @contextmanager
    def _left_out(self, step: int, facts: Facts) -> Iterator[None]:
        """What is written within is of a step that was left out."""
        self._records.begin(step)
        yield
        self._records.end(facts)

    def end_step(self, facts: Facts) -> None:
        """The step under way is over, whatever of it cannot be written."""
        with self.recorder.lock, ExitStack() as ending:  # the last first, each though others raised
            ending.callback(self._records.end, facts)
            ending.callback(self._memory.end_step, facts.read_kv)
            ending.callback(self.tokens.poll)
            ending.callback(self._sites.end_step, self._records.step, self.serving.served or facts.served)
            if self._hooks.aten:
                ending.callback(self._hooks.aten.end_step)
            ending.callback(self._spool.keep_what_matters)
            ending.callback(self._complete_rows)

    def _complete_rows(self) -> None:
        recorder = self.recorder
        recorder.observer.forget()
        recorder.observer.padding = None
        watched = self.nan_watch
        wait = self._spool.has_waiting or self.left_out is not None  # a budget is to know what the device took
        recorder.send_rows(wait=wait or (watched is not None and watched.ops.watches))
        if watched:
            watched.rows_have_come()

    def _beat(self) -> None:
        """Show that the process lives and, if somebody asks, where its threads are."""
        self._unserved.beat(served=self._spool.heartbeat())
        if poke := self._spool.control.poke():
            thread_stacks.write(self._spool.folder / "stacks")
            self._spool.control.poked(poke)
        self.demands.beat(self._records.step)
        self.calls.late()
        self.recorder.read_late_rows()
        self._read_late_tokens()
        self._raw.poll_late()

    def _read_late_tokens(self) -> None:
        if self.tokens.is_waiting and ask_beside_captures() and self.recorder.lock.acquire(blocking=False):
            try:
                self.tokens.poll()
            finally:
                self.recorder.lock.release()

    def install(self) -> None:
        """Put the hooks in place, on the thread that calls."""
        self._hooks.install()

    def take(self, model: nn.Module) -> None:
        """There is a further model, or more in one, maybe in the midst of a step."""
        with self.recorder.lock:
            self._memory.watch(model)
            self._hooks.take_fresh()

    def uninstall(self) -> None:
        """Undo all that was put in place."""
        self.recorder.live = False
        if self.left_out:
            self.left_out.pause()
        self._memory.rest()
        self._hooks.remove()

    def close(self) -> None:
        """The application is done with this tap, whatever of it cannot be undone or written."""
        with ExitStack() as ending:  # the last first, each though others raised
            if self.nan_watch:
                ending.callback(self.nan_watch.closed)
            if self._shape_log:
                ending.callback(self._shape_log.close)
            ending.callback(self._memory.close)
            ending.callback(self._close_spool)
            ending.callback(self._unserved.end)
            ending.callback(self._logged.close)
            ending.callback(self.demands.end)
            ending.callback(self._heartbeat.stop)
            ending.callback(self._end_condition)
            if self.left_out:
                ending.callback(self.left_out.close)
            if self.nan_watch:
                ending.callback(self.nan_watch.close)
            ending.callback(self.uninstall)

    def _close_spool(self) -> None:
        with self.recorder.lock, ExitStack() as ending:
            ending.callback(self._spool.close)
            ending.callback(self._records.write_unseen)
            ending.callback(self._raw.close)
            ending.callback(self.recorder.complete_rows)
            ending.callback(self.tokens.poll, wait=True)
            ending.callback(self._sites.poll, wait=True)

    def abandon(self) -> None:
        """This is a child that was forked: let go of what is the parent's, and write nothing."""
        self.recorder.measurer.forget()  # first: whatever happens, nothing of a device may be freed here
        self._raw.forget()
        self.tokens.forget()
        self._sites.forget()
        self._logged.leave()
        self.demands.leave()
        if self.left_out:
            self.left_out.forget()
        if self.nan_watch:
            self.nan_watch.close()
        self.uninstall()
        if self.left_out:
            self.left_out.close()
        self._measures.forget()
        self._spool.abandon()
        self._memory.close()

    def write_event(self, event: Event, request: str) -> None:
        """What the program says of itself, in the step and op under way."""
        self._logged.event(event, request)

    def _end_condition(self) -> None:
        self._measures.close()
        if self.standing and (never := self.standing.never()):
            self._say(never)
            self.unseen.count(unseen.CONDITION, never)

    def _tell_written(self, kind: str, fields: Mapping[str, object]) -> None:
        """Say which file was written, so that it is found again."""
        self._logged.event((time.time_ns(), *body(kind, fields)), "")

    def _modules(self) -> list[str]:
        return [part.path for part in self._roots.parts()]
