"""A site's end of the wire: HTTP or a shared folder, a mailbox, an audit log.

The package has the name of the function most people need, so that it can be called:
`guidefbo.connect("site.json", "https://host:8443")` is `guidefbo.connect.link.connect`.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from guidefbo.connect.link import Link


class _Callable(ModuleType):
    """A package that is called like the function of its name."""

    def __call__(self, *arguments: Any, **named: Any) -> "Link":
        from guidefbo.connect.link import connect

        return connect(*arguments, **named)


# Importing a module below this package makes `guidefbo.connect` the package, whatever
# it was before; so the package itself has to be what can be called.
sys.modules[__name__].__class__ = _Callable
