"""A mapping that makes its values on demand: types to frames, features to arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

ValueT = TypeVar("ValueT")


class LazyMapping(Mapping[str, ValueT]):
    """Mapping that makes its values on demand; `resolve` finds the names of other keys."""

    def __init__(
        self,
        what: str,
        names: tuple[str, ...],
        make: Callable[[str], ValueT],
        resolve: Callable[[Any], str] = lambda name: name,
    ) -> None:
        self._what, self._names, self._make, self._resolve = what, names, make, resolve

    def __getitem__(self, key: Any) -> ValueT:
        name = self._resolve(key)
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
