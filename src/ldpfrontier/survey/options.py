"""The options of the command `ldp-frontier`, read and checked."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from ldpfrontier.survey.option_table import OPTIONS, TEXTS
from ldpfrontier.verify import visible

PROGRAM = "ldp-frontier"

_DESCRIPTION = (
    "Design a privacy mechanism for one table or a questionnaire, or describe one that was used; privatize"
    " records, estimate frequencies, their changes and regressions from reports, audit, check certificates."
)


class _Parser(argparse.ArgumentParser):
    """A parser that says what is wrong in one line, and leaves the usage to ``--help``."""

    def error(self, message: str) -> NoReturn:
        """End the program with the reason."""
        unknown = re.fullmatch(r"unrecognized arguments: (--[^\s=]+).*", message, re.DOTALL)
        if unknown and (near := difflib.get_close_matches(unknown[1], self._options(), 1, 0.8)):
            message += f" (did you mean {near[0]}?)"
        self.exit(2, f"{self.prog}: {visible(message)}. '{self.prog} --help' shows the options.\n")

    def _options(self) -> list[str]:
        """Return the names of all options, of the commands as well."""
        names = list(self._option_string_actions)
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                names += [name for one in action.choices.values() for name in one._option_string_actions]
        return names


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options of a command, with its name as `command`; invalid options end the program."""
    parser = _Parser(prog=PROGRAM, description=_DESCRIPTION)
    version = f"{PROGRAM} {import_module('ldpfrontier').__version__}"
    parser.add_argument("--version", action="version", version=version)
    parser.set_defaults(quiet=False)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    form = argparse.RawDescriptionHelpFormatter
    for name, (short, text) in TEXTS.items():
        one = commands.add_parser(name, help=short, description=text, formatter_class=form)
        for entry in OPTIONS[name]:
            if isinstance(entry, list):
                group = one.add_mutually_exclusive_group(required=name in ("channel", "people"))
                for names, more in entry:
                    group.add_argument(*names, **more)
            else:
                one.add_argument(*entry[0], **entry[1])
    options = parser.parse_args(arguments)
    if any("\0" in argument for argument in arguments or ()):
        parser.error("an argument contains a NUL character; arguments must not contain any")
    if options.command == "design" and options.purpose is None:
        options.purpose = "frequencies" if options.utility is None else "information"
    if problem := _contradiction(options):
        parser.error(problem)
    return options


def _contradiction(options: argparse.Namespace) -> str:
    """Return a sentence on options that do not go together; nothing if they do."""
    if getattr(options, "missing_codes", None) and options.missing in (None, "keep"):
        return "--missing-codes says what is missing, and needs --missing: what becomes of it"
    if options.command == "apply":
        if (options.seed is not None) != options.insecure:
            return "--seed and --insecure must be given together; without them, reports are drawn securely"
        if (options.memo is None) != (options.id is None):
            return "--memo and --id must be given together: the file of reports and the column of ids"
        if options.wave and options.memo is None:
            return "--wave is about the reports of a person in a memo, and needs --memo and --id"
    if options.command == "estimate" and options.quiet and options.out is options.picture is None:
        return "--quiet needs --out or --plot; otherwise the estimate would be lost"
    if options.command != "design":
        return ""
    if options.epsilon is options.utility is options.error is None:
        return "one of --epsilon, --utility and --error is needed"
    if options.epsilon is None and not options.reports is options.budget is None:
        return "--reports and --budget need --epsilon"
    if options.utility is not None and options.purpose == "frequencies":
        return "--utility is a share of information, and goes with --for information"
    if options.purpose == "information" and options.precise not in (None, "cells"):
        return "--precise is about frequencies, and does not go with --for information or --utility"
    if options.data is options.table is None and not options.values:
        return "one of --data, --table and --values is needed"
    if options.data is options.table is None and (options.missing or options.count or options.weight):
        return "--missing, --count and --weight are about a table; with --values alone there is none"
    if options.count is not None and (options.data is not None or options.weight is not None):
        return "--count names the numbers of people in --table, and does not go with --data or --weight"
    if options.weight is None and not options.people is options.design_effect is None:
        return "--people and --design-effect are about weighted shares, and need --weight"
    return ""
