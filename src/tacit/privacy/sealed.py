"""An exact answer on its way to a mechanism: it can be carried and it can be opened, and nothing else."""

from __future__ import annotations

from typing import Generic, NoReturn, TypeVar, final

from tacit.errors import TacitError

T = TypeVar("T")


class SealBroken(TacitError, TypeError):
    """An attempt to look at, compare, convert or copy an exact answer outside `mechanisms/`."""


def _refuse(self: object, *_: object, **__: object) -> NoReturn:
    raise SealBroken("an exact answer is sealed: only a mechanism can open it; release it with noise")


@final
class Sealed(Generic[T]):
    """An exact, private value. `mechanisms/` opens it; a test searches the tree for any other opening.

    >>> Sealed(42)
    Sealed(...)
    >>> Sealed(42) == Sealed(42)
    Traceback (most recent call last):
    ...
    tacit.privacy.sealed.SealBroken: an exact answer is sealed: only a mechanism can open it; release it with noise
    """

    __slots__ = ("__value",)

    def __init__(self, value: T) -> None:
        object.__setattr__(self, "_Sealed__value", value)

    def unseal(self) -> T:
        """The exact value. For `mechanisms/` alone."""
        value: T = object.__getattribute__(self, "_Sealed__value")
        return value

    def __repr__(self) -> str:
        return "Sealed(...)"

    __str__ = __repr__
    __hash__ = None  # type: ignore[assignment]  # unhashable on purpose: equality of hashes would compare values
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __bool__ = __len__ = __iter__ = __contains__ = __getitem__ = __next__ = _refuse
    __int__ = __float__ = __index__ = __complex__ = __round__ = __bytes__ = __format__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __neg__ = __abs__ = __array__ = __arrow_c_array__ = __dataframe__ = _refuse
    __reduce__ = __reduce_ex__ = __getstate__ = __setstate__ = __copy__ = __deepcopy__ = _refuse
    __setattr__ = __delattr__ = __sizeof__ = _refuse
