"""How does a numeric loop become machine code? (pure)

The one place that touches numba, which has no type stubs. A loop is compiled at its first call for its argument
types, releases the GIL while it runs, and keeps IEEE order: no fastmath, so no reordering and no fused multiply-add.
Nothing is cached on disk: numba refuses to decorate a function, hence to import the module, where no cache folder
can be written, and its cache does not notice a change in a loop of another file.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

P = ParamSpec("P")
R = TypeVar("R")
Scalar = TypeVar("Scalar", bound=np.generic)


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """`function` as a compiled loop. It may call other compiled ones."""
    return cast("Callable[P, R]", numba.njit(nogil=True, fastmath=False, boundscheck=False)(function))


def read_only(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """A read-only view, C-contiguous, of the plain array class: so that a loop meets one type, and is compiled once."""
    view = np.ascontiguousarray(array).view(np.ndarray)
    view.flags.writeable = False
    return view
