"""Forks of a process that has databases open."""

import os
from functools import cache
from typing import Protocol
from weakref import WeakSet


class Forkable(Protocol):
    """What must be at rest while its process forks."""

    def before_fork(self) -> None:
        """Come to rest, and stay there."""

    def after_fork_in_parent(self) -> None:
        """Go on."""

    def after_fork_in_child(self) -> None:
        """Start over."""


_watched: WeakSet[Forkable] = WeakSet()

_at_rest: list[Forkable] = []
"""Those that the fork under way has brought to rest: none may come or go until it is done."""


def watch(resource: Forkable) -> None:
    """Have a resource at rest at every later fork, as long as somebody holds it."""
    _register()
    _watched.add(resource)


@cache
def _register() -> None:
    # Not at import, which has no effects; there are no forks on Windows.
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)


def _before() -> None:
    for resource in list(_watched):
        resource.before_fork()
        _at_rest.append(resource)


def _after_in_parent() -> None:
    while _at_rest:
        _at_rest.pop().after_fork_in_parent()


def _after_in_child() -> None:
    while _at_rest:
        _at_rest.pop().after_fork_in_child()
