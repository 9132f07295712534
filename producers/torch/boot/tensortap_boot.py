"""Waits for the modules that models run in, and lets the collector attach to them once they are imported.

Written for start-up time: it imports nothing that Python has not imported already, and PyTorch least of all.
"""

import os
import sys

# A module of the application, and the module of tensortap.integrations that knows what to do with it.
ADAPTERS = {
    "torch": "generic",
    "transformers.generation.utils": "huggingface_generate",
    "vllm.v1.worker.gpu_worker": "vllm",
    "sglang.srt.model_executor.model_runner": "sglang",
    "sglang.srt.entrypoints.http_server": "sglang_server",
    "sglang.srt.observability.forward_pass_metrics": "sglang_metrics",
    "sglang.multimodal_gen.runtime.managers.gpu_worker": "sglang_diffusion",
}
if os.environ.get("TENSORTAP_REQUESTS"):  # else nothing of servers is of interest
    ADAPTERS["starlette.applications"] = "asgi"


# Modules with generators of random numbers, which a launcher may ask to be seeded, and PyTorch's algorithms with them.
SEEDED = ("random", "numpy.random", "torch")


def adapters():
    """The adapters of each module, in the order of their work, as the launcher asks."""
    found = {}
    if os.environ.get("TENSORTAP_SEED") or os.environ.get("TENSORTAP_DETERMINISTIC"):
        for name in SEEDED:
            found[name] = ["seeds"]
    if os.environ.get("TENSORTAP_ATTACH"):
        for name, adapter in ADAPTERS.items():
            found.setdefault(name, []).append(adapter)
    return found


def enter():
    """What is done at the start of Python."""
    keep_output()
    let_people_in()
    begin()


def begin():
    """Watch the imports of this process, if the launcher asks for it. May be called by several ways in."""
    asked = adapters()
    if asked and not any(type(finder) is Finder for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder(asked))
        for name in asked:
            if name in sys.modules:  # a plug-in of an engine is called after its imports
                attach(name, asked[name])


def let_people_in():
    """breakpoint() has the launcher's terminal, if it lends one; and a rank that a debugger is to attach to waits for it here."""
    if os.environ.get("TENSORTAP_TERMINAL"):
        if not os.environ.get("PYTHONBREAKPOINT"):
            sys.breakpointhook = _at_breakpoint
        if os.environ.get("TENSORTAP_POST_MORTEM"):
            sys.excepthook = _examine
    if os.environ.get("TENSORTAP_DEBUG"):
        try:
            from tensortap._debug import launched

            launched.at_start(os.environ)
        except Exception as error:  # the program is what matters
            _say("no debugger can attach: " + type(error).__name__ + ": " + str(error))


def _at_breakpoint(*args, **kwargs):
    from tensortap._debug.terminal import at_breakpoint

    return at_breakpoint(sys._getframe(1))


def _examine(kind, error, traceback):
    try:
        from tensortap._debug.terminal import examine

        examine(kind, error, traceback)
    except Exception as ours:  # the program's own exception is what counts
        _say("no post-mortem: " + type(ours).__name__ + ": " + str(ours))
    sys.__excepthook__(kind, error, traceback)


def keep_output():
    """Let what this process prints go into files of its own, if the launcher asks for it and would hear it otherwise.

    A file is no pipe: who prints never waits for a reader, and loses nothing when it is killed.
    """
    asked = os.environ.get("TENSORTAP_LOGS")
    if not asked:
        return
    folder, out, err = asked.split("\n")
    known = {}
    for stream, theirs, ending in ((1, out, ".out"), (2, err, ".err")):
        try:
            _keep(stream, theirs, folder, ending, known)
        except OSError:  # it is closed, or the folder is gone or full: printed as ever
            continue
    if known and not _keeping:
        _keeping.append(folder)
        os.register_at_fork(after_in_child=keep_output)


def _keep(stream, theirs, folder, ending, known):
    now = os.readlink("/proc/self/fd/%d" % stream)
    if not theirs or (now != theirs and os.path.dirname(now) != folder):
        return
    path = known.setdefault(now, folder + "/" + str(os.getpid()) + ending)  # both streams into one where they were one
    if now != path:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(file, stream)
        os.close(file)


_keeping = []


class Finder:
    """Finds nothing itself: it lets the others find the modules that matter, and hears when they have run."""

    def __init__(self, asked):
        self._asked = asked
        self._asking = set()

    def find_spec(self, name, path=None, target=None):
        """Find a module as the finders after this one do."""
        if name not in self._asked or name in self._asking:
            return None
        self._asking.add(name)
        try:
            spec = _found(name, path, target)
        finally:
            self._asking.discard(name)
        if spec is not None and spec.loader is not None:
            try:
                _listen(spec.loader, name, self._asked[name])
            except (AttributeError, TypeError):  # a loader of an old kind, or one that takes no attribute
                _say("cannot attach to " + name + ", which runs unobserved: its loader is a " + type(spec.loader).__name__)
        return spec


def attach(name, asked):
    """Let the adapters of a module do their work."""
    for adapter in asked:
        _attach(name, "tensortap.integrations." + adapter)


def _attach(name, adapter):
    """What goes wrong there is no business of the program's."""
    try:
        __import__(adapter)
        sys.modules[adapter].attach(sys.modules[name])
    except Exception as error:  # an import of the program's is under way, whatever it is that fails
        _say("cannot attach to " + name + ", which runs unobserved: " + type(error).__name__ + ": " + str(error))


def run_hidden(name, ours):
    """Run the module of this name that would have been imported if ours did not come first on the path."""
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import PathFinder

    _ran.add(os.path.dirname(os.path.abspath(ours.__file__)))
    spec = PathFinder.find_spec(name, [entry for entry in sys.path if os.path.abspath(entry) not in _ran])
    if spec is None or spec.loader is None:
        return
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:  # the program's own, which goes on its way
        sys.modules[name] = ours
        raise


_ran = set()  # folders with a sitecustomize of ours; a launch within that of another release has two


def _found(name, path, target):
    for finder in sys.meta_path:
        find = None if type(finder) is Finder else getattr(finder, "find_spec", None)
        spec = find(name, path, target) if find else None
        if spec is not None:
            return spec
    return None


def _listen(loader, name, asked):
    run = loader.exec_module

    def exec_module(module):
        run(module)
        attach(name, asked)

    loader.exec_module = exec_module


def _say(sentence):
    try:
        sys.stderr.write("tensortap: " + sentence + "\n")
    except (OSError, ValueError, AttributeError):  # a process may have no stderr
        return
