"""Where the recording of one process gets into PyTorch: hooks for what its level observes, in place or not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from torch.nn import TransformerEncoderLayer

from tensortap._config.settings import Level, Settings
from tensortap._hooks.collectives import CollectiveHooks
from tensortap._hooks.cuda_graphs import GraphWatch
from tensortap._hooks.fast_paths import FusedLayer, Unasked, Uncompiled
from tensortap._hooks.function_mode import ApiMode
from tensortap._hooks.jit_traces import JitTraces
from tensortap._hooks.losses import LossHooks
from tensortap._hooks.mode_in_backward import EngineWrap
from tensortap._hooks.mode_stacks import FUNCTIONS
from tensortap._hooks.module_paths import ModulePaths
from tensortap._hooks.modules import ModuleHooks
from tensortap._hooks.optimizer_settings import OptimizerSettings
from tensortap._hooks.optimizers import OptimizerHooks
from tensortap._hooks.token_places import TokenPlaces
from tensortap._record.model_roots import Part, Roots, compiled
from tensortap._record.module_calls import Handle
from tensortap._record.op_names import Op
from tensortap._record.recorder import Recorder
from tensortap._record.shape_log import ShapeLog
from tensortap._record.token_sites import TokenSites

if TYPE_CHECKING:
    from tensortap._hooks.aten_mode import AtenMode


class Hooks:
    """Not in place until they are installed."""

    def __init__(self, settings: Settings, roots: Roots, recorder: Recorder, write_memory: Callable[[Op], None], shape_log: ShapeLog | None, sites: TokenSites) -> None:
        """With write_memory, a module's memory is written after it."""
        self._settings, self._roots, self._recorder = settings, roots, recorder
        self._write_memory, self._shape_log, self._sites = write_memory, shape_log, sites
        self._installed = False
        self._compiled: list[str] = []
        self._fused: list[Handle] = []
        self.observe_at(settings.level, settings.calls == "each")
        self._optimizers = OptimizerHooks(recorder)
        self._optimizer_settings = OptimizerSettings(recorder)
        self._graphs = GraphWatch(recorder.unseen)
        self._losses = LossHooks(recorder)

    def compiled_parts(self) -> Sequence[str]:
        """Parts of models that are compiled, whose insides the hooks in place do not see."""
        return self._compiled if self._installed else ()

    def observe_at(self, level: Level, each: bool) -> None:
        """What is installed next records this level; nothing may be in place."""
        settings, recorder = self._settings, self._recorder
        watch = self._write_memory if settings.memory and level == "L0" else None
        self.aten: AtenMode | None = None
        self._modules: ModuleHooks | ModulePaths | TokenPlaces | None = None
        if level == "aten" and not each:
            from tensortap._hooks.aten_counted import AtenCounts  # here, as what most programs never use takes its time to import

            self._modules = ModulePaths(recorder, hooked=bool(settings.scope))
            self.aten = AtenCounts(recorder, self._modules, self._shape_log)
        elif level == "aten":
            from tensortap._hooks.aten_each import AtenEach

            self.aten = AtenEach(recorder)
        if level in ("L0", "mix") or (level == "aten" and each):
            self._modules = ModuleHooks(recorder, watch)
        if level == "tokens":
            self._modules = TokenPlaces(recorder, self._sites)
        self._traces = JitTraces(recorder.unseen, self.aten)
        self._mode = ApiMode(recorder) if level in ("L1", "mix") else None
        recorder.observer.watch_custom_ops(are_heard=bool(self._mode) or (level == "aten" and each))
        self._engine = EngineWrap(self._mode) if self._mode else None
        self._beside: list[Unasked | Uncompiled] = [Unasked(self._mode), Uncompiled(self._mode)] if self._mode else []
        self._collectives = CollectiveHooks(recorder, records=self._mode is not None)

    def install(self) -> None:
        """Put the hooks in place, on the thread that calls."""
        if self._installed:
            return
        if self._modules and self._mode:
            self._optimizers.install()
        self._optimizer_settings.install()
        self._graphs.install()
        self._losses.install()
        with self._recorder.lock:
            self._installed = True
            self._compiled = compiled(self._roots)
            if self._modules:
                self._install(self._modules, self._roots.parts())
        self._collectives.install()
        if self._mode and self._engine:
            FUNCTIONS.enter(self._mode)
            self._mode.on_this_thread()
            self._engine.install()
            for one in self._beside:
                one.install()
        self._traces.install()

    def begin_step(self) -> None:
        """A step begins, and the hooks are in place."""
        self._traces.begin_step()
        if self.aten:
            self.aten.begin_step()

    def take_fresh(self) -> None:
        """Get into models that have come since, if the hooks are in place; the caller holds the recorder's lock."""
        if not self._installed:
            return
        self._compiled = compiled(self._roots)
        if self._modules:
            self._install(self._modules, self._roots.fresh_parts())

    def _install(self, modules: ModuleHooks | ModulePaths | TokenPlaces, parts: Iterable[Part]) -> None:
        parts = list(parts)
        modules.install(parts)
        if isinstance(modules, ModuleHooks):
            for part in parts:
                if isinstance(part.module, TransformerEncoderLayer):
                    self._fused += FusedLayer(self._recorder, part).hook(part.module)

    def remove(self) -> None:
        """Undo all that was put in place."""
        if not self._installed:
            return
        self._installed = False
        self._optimizers.remove()
        self._optimizer_settings.remove()
        self._graphs.remove()
        if self._modules:
            self._modules.remove()
        for handle in self._fused:
            handle.remove()
        self._fused.clear()
        if self._mode and self._engine:
            for one in self._beside:
                one.remove()
            FUNCTIONS.leave(self._mode)
            self._engine.remove()
        self._losses.remove()  # below the engine's wrap
        self._traces.remove()
        self._collectives.remove()
