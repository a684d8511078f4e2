"""Native code, in one place: loops that Numba compiles, and that Python can run too, from the same source.

Importing Numba and loading what it compiled takes more than half a second, so that is done when a kernel is first
called. A process that expects little work, as a command does, says so: then `kernel.sized(steps)` is the same function
run by Python, up to LITTLE steps in all. Steps are counted by public sizes: no row decides how work is done.

What was compiled is kept on disk. Numba knows it again by the file that a function is in; here it is known again by the
function, every kernel that it calls and every constant that they use, wherever those are.
"""

import builtins
import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property, update_wrapper
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, Generic, ParamSpec, TypeVar, overload

Given = ParamSpec("Given")
Result = TypeVar("Result")

LITTLE = 1_000_000
"""Steps after which a process that expected little work loads Numba. They take Python less time than that does:
bench/start.py measures both."""


class _Python:
    """How many steps more this process leaves to Python; less than none where it leaves none."""

    left = -1

    def takes(self, steps: int) -> bool:
        self.left -= steps
        return self.left >= 0


_python = _Python()


def expect_little() -> None:
    """Leave kernels to Python that are told how much they have to do, until it is more than a little."""
    _python.left = LITTLE


class Kernel(Generic[Given, Result]):
    """A loop over arrays that is compiled when it is first called. It may call other kernels, and nothing else of ours.

    Arrays and numbers go in and out. Whole numbers wrap at 64 bits, in Python too.
    """

    def __init__(
        self, function: Callable[Given, Result], plain: Callable[Given, Result] | None, options: dict[str, Any]
    ) -> None:
        assert isinstance(function, FunctionType)
        update_wrapper(self, function)
        self._function, self._plain, self._options = function, plain, options

    def __call__(self, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        return self.compiled(*args, **kwargs)

    def sized(self, steps: int) -> Callable[Given, Result]:
        """The kernel for a call that takes about so many steps of its innermost loops."""
        return self.plain if _python.takes(steps) else self.compiled

    @cached_property
    def plain(self) -> Callable[Given, Result]:
        """The kernel as Python runs it, and those that it calls likewise."""
        import numpy as np

        return self._plain or np.errstate(over="ignore")(self._calling(lambda kernel: kernel.plain))

    @cached_property
    def compiled(self) -> Callable[Given, Result]:
        """The kernel as Numba compiled it, now or earlier."""
        from numba import njit

        _python.left = -1
        function = self._calling(lambda kernel: kernel.compiled)
        compiled: Any = njit(function, nogil=True, **self._options)
        if isinstance(compiled, FunctionType):  # NUMBA_DISABLE_JIT: for whoever looks at each step
            return compiled
        compiled._cache = _cache_of(function)
        compiled._cache._cache_file._source_stamp = self.digest
        compiled.compile = _by_one_process(compiled)
        return compiled  # type: ignore[no-any-return]

    def _calling(self, bound: "Callable[[Kernel[..., Any]], Callable[..., Any]]") -> Callable[Given, Result]:
        """The function, with the kernels that it calls bound in one way."""
        names = {name: bound(value) if isinstance(value, Kernel) else value for name, value in self._uses}
        code, own = self._function.__code__, self._function
        known = {"__name__": own.__module__, "__builtins__": builtins, **names}
        copy = FunctionType(code, known, own.__name__, own.__defaults__)
        return update_wrapper(copy, own)

    @property
    def _uses(self) -> Iterator[tuple[str, Any]]:
        """The names of the module that the function uses, with what they stand for."""
        known = self._function.__globals__
        return ((name, known[name]) for name in sorted(_names(self._function.__code__)) if name in known)

    @cached_property
    def digest(self) -> str:
        """The same as long as the code is: the function's, that of all kernels that it calls, and their constants."""
        uses = [(name, value.digest if isinstance(value, Kernel) else _constant(value)) for name, value in self._uses]
        return hashlib.sha256(repr((_code(self._function.__code__), self._options, uses)).encode()).hexdigest()


def _cache_of(function: Callable[..., Any]) -> Any:
    """Numba's cache of a function on disk. What cannot be read there, as after a type was renamed, is not there."""
    from numba.core.caching import FunctionCache

    class Cache(FunctionCache):  # type: ignore[misc]
        def load_overload(self, signature: Any, context: Any) -> Any:
            try:
                return super().load_overload(signature, context)
            except Exception:
                self.flush()
                return None

    return Cache(function)


class _Compiling:
    """How long this process has been loading and compiling kernels, or waiting for another that does. One thread at a
    time is: it has the compiler's lock."""

    def __init__(self) -> None:
        self._over, self._deep, self._since = 0.0, 0, 0.0

    def __enter__(self) -> None:
        self._deep += 1
        if self._deep == 1:  # and not for a kernel that this one calls
            self._since = time.monotonic()

    def __exit__(self, *_: object) -> None:
        if self._deep == 1:
            self._over += time.monotonic() - self._since
        self._deep -= 1  # last: who looks meanwhile has more time for a moment, and never less

    @property
    def seconds(self) -> float:
        return self._over + (time.monotonic() - self._since if self._deep else 0.0)


compiling = _Compiling()


def working_time() -> float:
    """A clock, in seconds, that stands still while kernels are compiled: once on a machine, whoever asks first."""
    return time.monotonic() - compiling.seconds


def _by_one_process(compiled: Any) -> Callable[..., Any]:
    """A kernel's loading and compiling, by one process at a time: workers that start together compile it once, and none
    writes its file of one signature over another's, which Numba would load as what it is not.

    A kernel is locked before those that it calls, and no kernels call each other in a circle: nobody waits for ever.
    """
    from numba.core.compiler_lock import global_compiler_lock

    compile_it, cache = compiled.compile, compiled._cache

    def alone(signature: Any) -> Any:
        with global_compiler_lock, compiling, _locked(Path(cache.cache_path), f"{cache._impl.filename_base}.lock"):
            return compile_it(signature)

    return alone


@contextmanager
def _locked(folder: Path, name: str) -> Iterator[None]:
    """Until another process that has the lock lets go of it; where there can be no file, as if nobody had it."""
    import fcntl

    with ExitStack() as held:
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            file = held.enter_context((folder / name).open("ab"))
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@overload
def kernel(function: Callable[Given, Result], /) -> Kernel[Given, Result]: ...
@overload
def kernel(
    *, plain: Callable[..., Any] | None = None, **options: Any
) -> Callable[[Callable[Given, Result]], Kernel[Given, Result]]: ...
def kernel(
    function: Callable[..., Any] | None = None, /, plain: Callable[..., Any] | None = None, **options: Any
) -> Any:
    """Make a kernel of a function: `@kernel`, or with options of Numba's `njit`: `@kernel(fastmath=True)`.

    `plain` is what Python runs instead, where NumPy has the whole loop ready-made. Compiled, a kernel lets go of the
    interpreter's lock: what threads share, they have to guard.
    """
    return (lambda later: Kernel(later, plain, options)) if function is None else Kernel(function, None, options)


def _names(code: CodeType) -> set[str]:
    """Every name in a function, and in the functions inside it."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _code(code: CodeType) -> tuple[Any, ...]:
    """What a function does: nothing of where it stands."""
    constants = tuple(_code(value) if isinstance(value, CodeType) else value for value in code.co_consts)
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_argcount


def _constant(value: object) -> str:
    """A global that a kernel uses, which is compiled in."""
    import numpy as np

    match value:
        case ModuleType() | BuiltinFunctionType():
            return value.__name__
        case type():
            return f"{value.__qualname__}{getattr(value, '_fields', ())}"
        case bool() | int() | float() | str() | tuple() | np.generic():
            return repr(value)
    raise TypeError(f"a kernel uses {value!r:.80}, which is no kernel, module, type or constant")
