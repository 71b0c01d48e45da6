"""The options of the command `ldp-frontier` and their help texts."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module

PROGRAM = "ldp-frontier"

_DESCRIPTION = (
    "Design a privacy mechanism for one table, privatize records with it, estimate frequencies from the"
    " reports, audit it, and check certificates."
)

_DESIGN = r"""Compare the mechanisms that suit a table, and write the best one to a file.

A privacy level L means that a report changes the odds between any two
sensitive values by at most a factor e^L, for those who read it. --against says
who they may be: an outsider knows nothing else about the person, an insider
also knows the useful value, and anyone may know or believe anything. Protection
from insiders includes outsiders. The table is a sample, so that nobody knows
the distribution of the population exactly: for outsiders the level holds under
every distribution in F, a confidence set around that of the table. Without
--useful the whole record is sensitive, and the level holds for anyone.

The table is treated as public: its counts are written into the channel file.
The level is for people who report later, each once, not for those who were
counted.

examples:
  ldp-frontier design --table survey.csv --sensitive illness --useful region \
      --epsilon 1
  ldp-frontier design --data people.csv --sensitive illness --useful region age \
      --bins age=18,40,65 --error 0.02 --records 10000"""

_APPLY = """\
Write a report for every record of a file, in the order of the records, and
nothing else, unless --keep names columns. The reports are drawn with random
bytes of the operating system, with the probabilities in the channel file,
which are whole multiples of 2^-62."""

_ESTIMATE = """\
Estimate how frequent values are from reports: the most likely distribution,
unbiased estimates, and confidence intervals, which are made for few reports as
well as for many. What a channel does not show has an interval only."""

_AUDIT = """\
Compute the privacy level of the stored channel again, and, with samples, a
lower bound on the level of what was drawn. The exit status is 1 if something
is wrong."""

_VERIFY = """\
Check certificates with exact arithmetic, by a program of one file that needs
nothing else of the package (ldpfrontier/verify.py). The exit status is 0 if
every claim of every file is proved, 1 if one is not, 2 if a file is malformed."""


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options of a command, `command` its name; those that make no sense end the program.

    Parameters
    ----------
    arguments : sequence of str or None
        Those of the program if None.
    """
    parser = argparse.ArgumentParser(prog=PROGRAM, description=_DESCRIPTION)
    version = f"{PROGRAM} {import_module('ldpfrontier').__version__}"
    parser.add_argument("--version", action="version", version=version)
    parser.set_defaults(quiet=False)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")

    def command(name: str, help_: str, text: str) -> argparse.ArgumentParser:
        form = argparse.RawDescriptionHelpFormatter
        return commands.add_parser(name, help=help_, description=text, formatter_class=form)

    one = command("design", "find the best mechanism for a table", _DESIGN)
    _table_options(one)
    _design_options(one)
    _apply_options(command("apply", "privatize records", _APPLY))
    _estimate_options(command("estimate", "estimate how frequent values are, from reports", _ESTIMATE))
    _audit_options(command("audit", "check the privacy level of a channel", _AUDIT))
    five = command("verify", "check certificates", _VERIFY)
    five.add_argument("files", nargs="+", metavar="FILE", help="a certificate")
    options = parser.parse_args(arguments)
    if any("\0" in argument for argument in arguments or ()):
        parser.error("an argument has a NUL character, which no name of a file has")
    if problem := _contradiction(options):
        parser.error(problem)
    return options


def _contradiction(options: argparse.Namespace) -> str:
    """Return a sentence on options that do not go together; nothing if they do."""
    if options.command == "apply" and (options.seed is not None) != options.insecure:
        return "--seed and --insecure go together; without both, reports are drawn securely"
    if options.command == "apply" and (options.memo is None) != (options.id is None):
        return "--memo and --id go together: the file of the reports, and the column of the persons"
    if options.command == "design" and options.epsilon is options.utility is options.error is None:
        return "one of --epsilon, --utility and --error is needed"
    if options.command == "design" and options.data is not None and options.count is not None:
        return "--count is for --table; records of --data count once each"
    if options.command == "estimate" and options.quiet and options.out is options.picture is None:
        return "--quiet without --out and --picture leaves nothing of an estimate"
    return ""


def _table_options(one: argparse.ArgumentParser) -> None:
    """Add the options of `design` that say what the table is."""
    table = one.add_mutually_exclusive_group(required=True)
    table.add_argument(
        "--data", metavar="FILE",
        help="a file with a row per record: CSV with a header and any usual separator, or Parquet; - is the"
        " standard input",
    )  # fmt: skip
    table.add_argument(
        "--table", metavar="FILE",
        help="a file with a row per combination of values, and a column that counts its records",
    )  # fmt: skip
    one.add_argument("--count", metavar="COLUMN", help="the column of counts in --table (default: count)")
    one.add_argument(
        "--sensitive", nargs="+", required=True, metavar="COLUMN", help="the columns to be protected"
    )
    one.add_argument(
        "--useful", nargs="+", default=[], metavar="COLUMN",
        help="the columns to be reported with them; several columns are taken together as one (default:"
        " none, so that the whole record is sensitive)",
    )  # fmt: skip
    one.add_argument(
        "--bins", nargs="+", default=[], metavar="COLUMN=N",
        help="put the numbers of a column into N groups of about as many records each, or, with"
        " COLUMN=18,40,65, into groups that begin at these numbers",
    )  # fmt: skip
    _missing_option(one)


def _design_options(one: argparse.ArgumentParser) -> None:
    """Add the options of `design` that say what is asked of a mechanism."""
    one.add_argument(
        "--against", choices=["outsider", "insider", "anyone"], default="insider",
        help="from whom the sensitive value has to be protected (default: insider)",
    )  # fmt: skip
    goal = one.add_mutually_exclusive_group()
    goal.add_argument("--epsilon", type=float, metavar="NATS", help="the level, above 0 and at most 20")
    goal.add_argument(
        "--utility", type=float, metavar="NMI",
        help="find the least level, to 0.001, at which reports carry this share of the information of a"
        " record (NMI), between 0 and 1",
    )  # fmt: skip
    one.add_argument(
        "--error", type=float, metavar="E",
        help="an error of estimated frequencies (root mean square). With --epsilon or --utility: say how many"
        " reports it takes (default: 0.01). Without: find the least level, to 0.001, at which --records"
        " reports have this error",
    )  # fmt: skip
    one.add_argument(
        "--for", dest="purpose", choices=["frequencies", "information"], default="frequencies",
        help="choose the mechanism with the least error of estimated frequencies, or the one whose reports"
        " carry most information (default: frequencies)",
    )  # fmt: skip
    one.add_argument(
        "--mechanism", metavar="NAME",
        help="consider this mechanism alone, by its name in the tables that are printed (default: all)",
    )  # fmt: skip
    one.add_argument(
        "--beta", type=float, default=0.05, metavar="P",
        help="F has the true distribution with confidence 1 - P (default: 0.05)",
    )  # fmt: skip
    one.add_argument(
        "--alpha", type=float, default=2.0, metavar="ORDER",
        help="order of the Renyi divergence that F is a ball of (default: 2)",
    )  # fmt: skip
    one.add_argument(
        "--records", type=int, metavar="N",
        help="how many records will be privatized, for the errors (default: as many as were counted)",
    )  # fmt: skip
    one.add_argument(
        "--out", default="channel.json", metavar="JSON",
        help="where the channel is written; its matrix, thresholds, known answers, weights, sampler and"
        " picture are written beside it (default: channel.json)",
    )  # fmt: skip
    _printing_options(one)


def _apply_options(two: argparse.ArgumentParser) -> None:
    _channel_option(two)
    two.add_argument("--data", required=True, metavar="FILE", help="records, with the columns of the channel")
    two.add_argument("--out", required=True, metavar="CSV", help="where their reports are written")
    two.add_argument(
        "--keep", nargs="+", default=[], metavar="COLUMN",
        help="columns to copy as they are; what they reveal is not limited",
    )  # fmt: skip
    _column_option(two)
    _missing_option(two)
    two.add_argument(
        "--memo", metavar="FILE",
        help="keep the report of every person, and give it again whenever the person reports again",
    )  # fmt: skip
    two.add_argument("--id", metavar="COLUMN", help="the column that says who a person is, for --memo")
    two.add_argument("--seed", type=int, help="make the reports predictable; only with --insecure")
    two.add_argument("--insecure", action="store_true", help="allow --seed: no protection, for tests only")
    two.add_argument("--quiet", action="store_true", help=_QUIET)


def _estimate_options(three: argparse.ArgumentParser) -> None:
    _channel_option(three)
    three.add_argument("--data", required=True, metavar="FILE", help="reports, as apply writes them")
    _column_option(three)
    _confidence_option(three, "each interval")
    three.add_argument(
        "--simultaneous", action="store_true", help="make it the confidence of all intervals together"
    )
    three.add_argument("--out", metavar="CSV", help="write the estimates to this file")
    _printing_options(three)
    three.add_argument("--picture", metavar="FILE", help="draw them; a .svg, .pdf or .png file")


def _audit_options(four: argparse.ArgumentParser) -> None:
    _channel_option(four)
    samples = four.add_mutually_exclusive_group()
    samples.add_argument(
        "--samples", type=int, metavar="N", help="privatize this many records of random values"
    )
    samples.add_argument(
        "--data", metavar="FILE",
        help="records with their reports, as apply --keep writes them if all columns of the channel are kept",
    )  # fmt: skip
    _column_option(four)
    _missing_option(four)
    _confidence_option(four, "the lower bound")
    _printing_options(four)


def _channel_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--channel", required=True, metavar="JSON", help="a channel, as design writes it")


def _column_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--column", default="report", metavar="NAME", help="the column of the reports (default: report)"
    )


def _missing_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--missing", metavar="VALUE",
        help="what stands for a missing value, such as unknown (default: missing values are refused)",
    )  # fmt: skip


_QUIET = "print warnings and errors only"


def _printing_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--json", action="store_true", help="print the same as JSON, for programs")
    group.add_argument("--quiet", action="store_true", help=_QUIET)


def _confidence_option(parser: argparse.ArgumentParser, of: str) -> None:
    parser.add_argument(
        "--confidence", type=float, default=0.95, metavar="C",
        help=f"confidence of {of}, between 0 and 1 (default: 0.95)",
    )  # fmt: skip
