"""Show the examples of docstrings as code on the pages of the reference.

Loaded by mkdocstrings (`mkdocs.yml`). Markdown takes `>>>` for a quotation, and the
docstrings of this project need no heading above an example.
"""

import re
from typing import Any

from griffe import Extension, Object

EXAMPLE = re.compile(r"^( *)>>> .*(?:\n\1\S.*)*", flags=re.M)


class Doctests(Extension):
    """Puts fences around doctests."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        """Rewrite one docstring."""
        del kwargs
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(fenced, obj.docstring.value)


def fenced(found: re.Match[str]) -> str:
    """Return the example between fences, as far in as it stood."""
    indent, text = found[1], found[0]
    return f"{indent}```pycon\n{text}\n{indent}```"
