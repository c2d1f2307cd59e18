"""Say what `dir` lists of public objects: what users may call, and nothing that is the package's own."""

from __future__ import annotations

from typing import ClassVar


class Public:
    """A class of the API. `dir` of an object lists `__all__` or, in a class without, all names that have no `_`."""

    __slots__ = ()
    __all__: ClassVar[tuple[str, ...]] = ()

    def __dir__(self) -> list[str]:
        return sorted(self.__all__ or (name for name in super().__dir__() if not name.startswith("_")))
