"""Help texts whose paragraphs are broken by the terminal, not by the source."""

from typing import Any

from typer.core import TyperGroup


class FlowingGroup(TyperGroup):
    """A group of commands that joins the lines of their docstrings' paragraphs.

    Typer does so for the first paragraph alone: the lines of the others, as long as
    those of the source, would be broken again in a terminal of 80 columns.
    """

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command with its help as whole paragraphs."""
        command = super().get_command(ctx, cmd_name)
        if command is not None and command.help:
            command.help = flowing(command.help)
        return command


def flowing(text: str) -> str:
    r"""Return a text with one line a paragraph.

    >>> flowing("What it does.\n\nAnd a word\nmore.")
    'What it does.\n\nAnd a word more.'
    """
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))
