"""The command `ldp-frontier`: its options are read and checked, and errors become sentences."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext, redirect_stdout
from importlib import import_module
from io import StringIO, TextIOWrapper
from typing import NoReturn, TextIO

from ldpfrontier.base.atomic import is_full
from ldpfrontier.base.extras import MissingExtra
from ldpfrontier.verify import check_file, visible
from ldpsurvey.base.layout import Progress, Remark, wrapped
from ldpsurvey.command.command_texts import TEXTS
from ldpsurvey.command.idle_options import without_effect
from ldpsurvey.command.option_table import OPTIONS, alternatives, option_names

PROGRAM = "ldp-frontier"

_DESCRIPTION = (
    "Design a privacy mechanism for one table or a questionnaire, or describe one that was used; privatize"
    " records, estimate frequencies, their changes and regressions from reports, audit, check certificates."
)

#: Exit status of an error, and of an interruption.
FAILED, INTERRUPTED = 2, 130

#: Exit status if nobody reads what is written to a pipe: that of a program which its signal ends.
UNREAD = 141

#: Most letters of an error: a name in it may be a whole file.
LONGEST = 1000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit status: 0, 1 of an audit that found something, 2 of an error."""
    if isinstance(sys.stdout, TextIOWrapper):
        # A value that a terminal has no letter for must not end a command that has written its files.
        sys.stdout.reconfigure(errors="backslashreplace")
    options = read_options(arguments)
    Progress.quiet = options.quiet
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()) if options.quiet else nullcontext():
            warnings.simplefilter("always", Remark)
            warnings.showwarning = _show_warning
            status = _command(options.command)(options)
        if sys.stdout is not None:
            sys.stdout.flush()  # an error of the command, and not at the end of the interpreter
        return status
    except OSError as problem:
        _give_up_output()
        if isinstance(problem, BrokenPipeError):
            return UNREAD
        # What is written to a file has its name (`atomic.replacing`).
        where = "standard output" if is_full(problem) else None
        where = repr(problem.filename) if problem.filename == "" else problem.filename or where
        _say(f"{where}: {problem.strerror}." if where else f"{problem.strerror or problem}.")
    except (ValueError, ArithmeticError, RuntimeError, MissingExtra) as problem:
        _say(str(problem))
    except KeyboardInterrupt:
        print(f"{PROGRAM}: interrupted; nothing was written.", file=sys.stderr)
        return INTERRUPTED
    return FAILED


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning: one that is meant for the user as a sentence, another one as Python does."""
    if issubclass(category, Remark):
        print(f"{PROGRAM}: warning: {visible(str(message))}", file=sys.stderr)
    else:
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))


def _give_up_output() -> None:
    """Drop what was printed if it cannot be written; otherwise the interpreter tries again at its end."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(sentence: str) -> None:
    """Say why a command failed, on one line that a terminal can show."""
    plain = visible(sentence)
    shown = plain if len(plain) <= LONGEST else f"{plain[: LONGEST // 2]} ... {plain[-LONGEST // 2 :]}"
    print(f"{PROGRAM}: {shown}", file=sys.stderr)


def _command(name: str) -> Callable[[argparse.Namespace], int]:
    """Return the function of a command; others, and what they need, are not loaded."""
    if name == "verify":
        return verify
    if name == "design":
        _use_one_thread()
        from ldpsurvey.command.design_command import design

        return design
    if name in ("apply", "estimate", "change"):
        from ldpsurvey.command.report_commands import COMMANDS as OF_REPORTS

        return OF_REPORTS[name]
    if name in ("form", "card", "collect"):
        from ldpsurvey.command.answer_commands import COMMANDS as OF_ANSWERS

        return OF_ANSWERS[name]
    from ldpsurvey.command.analysis_commands import COMMANDS as OF_CHANNELS

    return OF_CHANNELS[name]


def _use_one_thread() -> None:
    """Let numpy's library compute in one thread: sums in several are rounded in another way.

    Searches then end in the same mechanism on any number of processors. Once numpy is loaded it is too late.
    """
    os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def verify(options: argparse.Namespace) -> int:
    """Check certificates."""
    found = [check_file(path) for path in options.files]
    for path, (_, message) in zip(options.files, found, strict=True):
        # Indented, so that no part of a name begins a line as a file that is proved does.
        print(wrapped(f"{path}: {message}", "  "))
    return max(code for code, _ in found)


# Options ---------------------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """A parser that says what is wrong in one line, and leaves the usage to ``--help``."""

    def error(self, message: str) -> NoReturn:
        """End the program with the reason."""
        self.exit(2, f"{self.prog}: {visible(message)}. '{self.prog} --help' shows the options.\n")


def _unknown(command: str, words: Sequence[str]) -> str:
    """Return what is wrong with words that a command does not take, and which option may be meant."""
    message = f"unrecognized arguments: {' '.join(words)}"
    first = words[0].partition("=")[0]
    if not first.startswith("--"):
        return message
    others = [name for name in OPTIONS if first in option_names(name)]
    if others:
        return f"{message}; {first} is an option of {' and '.join(others)}, and not of {command}"
    near = difflib.get_close_matches(first, option_names(command), 1, 0.8)
    return f"{message} (did you mean {near[0]}?)" if near else message


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
            place: argparse._ActionsContainer = one
            if isinstance(entry, list):
                place = one.add_mutually_exclusive_group(required=name in ("channel", "people"))
            for names, more in alternatives(entry):
                place.add_argument(*names, **more)
    options, unknown = parser.parse_known_args(arguments)
    parser = commands.choices[options.command]  # whose help has the options
    if unknown:
        parser.error(_unknown(options.command, unknown))
    if any("\0" in argument for argument in arguments or ()):
        parser.error("an argument contains a NUL character; arguments must not contain any")
    if options.command == "design" and options.purpose is None:
        options.purpose = "frequencies" if options.utility is None else "information"
    if problem := _contradiction(options) or without_effect(options):
        parser.error(problem)
    return options


def _contradiction(options: argparse.Namespace) -> str:
    """Return a sentence on options that do not go together; nothing if they do."""
    if options.command == "apply":
        if (options.seed is not None) != options.insecure:
            return "--seed and --insecure must be given together; without them, reports are drawn securely"
        if (options.memo is None) != (options.id is None):
            return "--memo and --id must be given together: the file of reports and the column of ids"
    if options.command == "estimate" and options.quiet and options.out is options.picture is None:
        return "--quiet needs --out or --plot; otherwise the estimate would be lost"
    if options.command == "change" and options.quiet and options.out is None:
        return "--quiet needs --out; otherwise the changes would be lost"
    if options.command == "collect":
        if bool(options.sources) == (options.listen is not None):
            return "either files of what came in are needed, or --listen with --store"
        of_files = ["out", "codes", "id", "keep"]
        if options.listen is not None and (idle := [name for name in of_files if getattr(options, name)]):
            return f"--{idle[0]} has no effect with --listen, which stores reports alone"
        if None in (options.out, options.listen) and options.out is options.store is None:
            return "--out is needed, for the reports; with --listen, --store"
    if options.command != "design":
        return ""
    if options.epsilon is options.utility is options.error is None:
        return "one of --epsilon, --utility and --error is needed"
    if options.utility is not None and options.purpose == "frequencies":
        return "--utility is a share of information, and goes with --for information"
    if options.purpose == "information" and options.precise not in (None, "cells"):
        return "--precise is about frequencies, and does not go with --for information or --utility"
    if options.data is options.table is None and not options.values:
        return "one of --data, --table and --values is needed"
    if options.count is not None and (options.data is not None or options.weight is not None):
        return "--count names the numbers of people in --table, and does not go with --data or --weight"
    if not options.useful and options.against not in (None, "anyone"):
        return f"--against {options.against} is about the useful value, and has no effect without --useful"
    if options.prove is not None and options.purpose == "information":
        return "--prove is about the smallest error, and has no effect with --for information or --utility"
    if options.prove is not None and not options.cone and options.mechanism not in (None, "frequencies"):
        return f"--prove has no effect with --mechanism {options.mechanism}, for which nothing is searched"
    return ""


if __name__ == "__main__":
    sys.exit(main())
