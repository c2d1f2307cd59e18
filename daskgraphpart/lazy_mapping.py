"""A mapping whose values are made when they are asked for: types to frames, features to arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

ValueT = TypeVar("ValueT")


class LazyMapping(Mapping[str, ValueT]):
    """Mapping whose values are made when they are asked for."""

    def __init__(self, what: str, names: tuple[str, ...], make: Callable[[str], ValueT]) -> None:
        self._what, self._names, self._make = what, names, make

    def __getitem__(self, name: str) -> ValueT:
        if name not in self._names:
            raise KeyError(f"no {self._what} {name!r}; there are: {', '.join(self._names) or 'none'}")
        return self._make(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names  # without making the value

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<{self._what}: {', '.join(self._names) or 'none'}>"
