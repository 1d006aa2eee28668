"""Options that are given once: of two values the command line would take the last one in silence."""

from __future__ import annotations

from collections import Counter
from typing import Any

import typer
from typer.core import TyperCommand, TyperOption


class Once(TyperCommand):
    """A command whose options may be repeated only where they collect several values."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As any command does. A usage error names the first option that was repeated."""
        # The parser leaves every occurrence in its order, and takes what it reads off the list.
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        single = (found for found in order if isinstance(found, TyperOption) and not found.multiple and not found.is_flag)
        for option, count in Counter(single).items():
            if count > 1:
                raise typer.BadParameter("it is given more than once", ctx=ctx, param_hint=option.opts[-1])
        return list(super().parse_args(ctx, args))
