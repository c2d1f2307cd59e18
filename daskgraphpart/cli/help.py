"""Show help: `--help` has a sentence per common option, `--help-all` everything."""

from __future__ import annotations

import re
from typing import Any

import click

EVERYTHING = "daskgraphpart.help_all"
OPTIONS, SHARED = "Options", ("Resources", "Progress")
NAMES_WIDTH = 24
_EDGE_TYPE = re.compile(r"[^:/=-][^:/=]*(:[^:/=]+){2}")
"""A word that is the edge type of the option before it; paths have no such names."""


class Option(click.Option):
    """An option under a heading of the help; `common` ones are in the short help, bare ones need no edge type."""

    def __init__(
        self, *args: Any, heading: str = OPTIONS, common: bool = False, is_bare: bool = False, **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        self.heading = heading
        self.is_common = common
        self.is_bare = is_bare

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option and its meaning; in short help, the first sentence."""
        record = super().get_help_record(ctx)
        if record is None or self.help is None or EVERYTHING in ctx.meta:
            return record
        first = self.help.partition(". ")[0].rstrip(".") + "."
        return record[0], record[1].replace(self.help, first)


class Command(click.Command):
    """A command that only names memory, workers and progress, which `partition` describes."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        if any(not _is_common(param) for param in self.params):
            self.params.append(
                click.Option(
                    ["--help-all"],
                    is_flag=True,
                    is_eager=True,
                    expose_value=False,
                    callback=_show_all,
                    help="Show all options, described in full.",
                )
            )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments, after giving bare options the edge type behind them, or an empty one.

        The next option is no value: one that was forgotten took it.
        """
        self._refuse_missing_values(ctx, args)
        bare = {name for param in self.params if getattr(param, "is_bare", False) for name in param.opts}
        words, given = [], iter(args)
        for word in given:
            name = ctx.token_normalize_func(word) if ctx.token_normalize_func else word
            words.append(f"{name}=" if name in bare else word)
            if word == "--":
                break
        for i in range(len(words) - 1, 0, -1):
            if words[i - 1][:-1] in bare and _EDGE_TYPE.fullmatch(words[i]):
                words[i - 1] += words.pop(i)
        return super().parse_args(ctx, [*words, *given])

    def _refuse_missing_values(self, ctx: click.Context, args: list[str]) -> None:
        options = {name: param for param in self.get_params(ctx) for name in (*param.opts, *param.secondary_opts)}
        names = [(ctx.token_normalize_func or str)(word.partition("=")[0]) for word in args]
        i = 0
        while i < len(args) and args[i] != "--":
            param, i = options.get(names[i]), i + 1
            if "=" in args[i - 1] or not isinstance(param, click.Option) or param.is_flag or param.count:
                continue
            for word, name in zip(args[i : i + param.nargs], names[i : i + param.nargs], strict=True):
                if name.startswith("-") and name in options and not getattr(param, "is_bare", False):
                    option = names[i - 1]
                    ctx.fail(f"{option} needs a value, but {word} is an option. If you mean it: {option}={word}.")
            i += 0 if getattr(param, "is_bare", False) else param.nargs

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section per heading, in order of first options."""
        sections: dict[str, list[click.Option]] = {OPTIONS: []}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (EVERYTHING in ctx.meta or _is_common(param)):
                sections.setdefault(getattr(param, "heading", OPTIONS), []).append(param)
        shared = [] if self.name == "partition" or EVERYTHING in ctx.meta else list(SHARED)
        others = [param.opts[0] for heading in shared for param in sections.pop(heading, [])]
        for heading, params in sections.items():
            records = [record for param in params if (record := param.get_help_record(ctx)) is not None]
            if records:
                with formatter.section(heading):
                    formatter.write_dl([_plain(*record) for record in records], col_max=NAMES_WIDTH)
        if others:
            formatter.write_paragraph()
            formatter.write_text(f"As in `partition`: {', '.join(others)}.")


def _is_common(param: click.Parameter) -> bool:
    return not isinstance(param, Option) or param.is_common


def _plain(name: str, text: str) -> tuple[str, str]:
    """An option and its meaning, at common width, in plain words."""
    return re.sub("INTEGER( RANGE)?", "N", name).ljust(NAMES_WIDTH), re.sub(r"  \[x>=\d+\]", "", text)


def _show_all(ctx: click.Context, param: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        click.echo(full_help(ctx))
        ctx.exit()


def full_help(ctx: click.Context) -> str:
    """Return what ``--help-all`` shows."""
    ctx.meta[EVERYTHING] = True
    return ctx.get_help()
