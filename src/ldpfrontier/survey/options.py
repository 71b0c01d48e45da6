"""The options of the command `ldp-frontier` and their help texts."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from ldpfrontier.survey.analysis_options import (
    AUDIT,
    CHANGE,
    CHANNEL,
    LEVEL,
    PEOPLE,
    REGRESS,
    VERIFY,
    expect_option,
    known_options,
    level_options,
    people_options,
    regress_options,
    sample_options,
    weight_options,
    weight_problem,
)
from ldpfrontier.survey.option_parts import JSON, QUIET, confidence_option, number, whole
from ldpfrontier.verify import visible

PROGRAM = "ldp-frontier"

_DESCRIPTION = (
    "Design a privacy mechanism for one table or a questionnaire, or describe one that was used; privatize"
    " records, estimate frequencies, their changes and regressions from reports, audit, check certificates."
)

_DESIGN = r"""Compute the mechanism that is best for a table, and write it to a file.

A privacy level L means that a report changes the odds between any two
sensitive values by at most a factor e^L for the attacker who reads it. --against
says who the attacker may be: an outsider knows nothing else about the person,
an acquaintance knows nothing, something or all of the useful value, such as that
it is one of two, and anyone may know or believe anything. The table is a sample,
so that nobody knows the distribution of the population exactly. For outsiders
the level therefore holds under every distribution in F, a confidence set around
the distribution of the table, and for acquaintances under every distribution
whose odds ratios are in confidence intervals. Without --useful the whole record
is sensitive, and the level holds for anyone.

The table is treated as public: its counts are written into the channel file.
The level holds for people who report later, and who report once, or as often as
--reports says. It does not hold for the people who were counted.

examples:
  ldp-frontier design --table survey.csv --sensitive illness --useful region \
      --epsilon 1
  ldp-frontier design --data people.csv --sensitive illness --useful region age \
      --bins age=18,40,65 --error 0.02 --records 10000"""

_APPLY = """\
Write a report for every record of a file, in the order of the records. The
output contains nothing else unless --keep names columns. The reports are drawn
with random bytes of the operating system and with the probabilities in the
channel file, which are whole multiples of 2^-62."""

_ESTIMATE = """\
Estimate the frequencies of values from reports, the rates of the sensitive
values given each useful value, and the differences and ratios of these rates,
with confidence intervals that are suitable for few reports as well as for many.
What the reports do not determine "cannot be estimated". The CSV file contains
unbiased estimates of the frequencies as well, and all intervals."""


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
    """Return the options of a command, with its name as `command`; invalid options end the program.

    Parameters
    ----------
    arguments : sequence of str or None
        By default, the arguments of the program.
    """
    parser = _Parser(prog=PROGRAM, description=_DESCRIPTION)
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
    _estimate_options(command("estimate", "estimate the frequencies of values from reports", _ESTIMATE))
    _change_options(command("change", "estimate what has changed between two waves", CHANGE))
    _audit_options(command("audit", "check the privacy level of a channel", AUDIT))
    level_options(command("level", "say what several reports of one person reveal together", LEVEL))
    known_options(command("channel", "write the channel of a survey that was taken already", CHANNEL))
    regress_options(command("regress", "fit a logistic regression to reports", REGRESS))
    people_options(command("people", "compute how many people have to report", PEOPLE))
    five = command("verify", "check certificates", VERIFY)
    five.add_argument("files", nargs="+", metavar="FILE", help="a certificate file")
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
    return weight_problem(options)


def _table_options(one: argparse.ArgumentParser) -> None:
    """Add the options of `design` that describe the table."""
    table = one.add_mutually_exclusive_group()
    table.add_argument(
        "--data", metavar="FILE",
        help="a file with a row per record: CSV with a header and any usual separator, Parquet, SPSS or"
        " Stata; - is the standard input",
    )  # fmt: skip
    table.add_argument(
        "--table", metavar="FILE",
        help="a file with a row per combination of values, and a column with the number of its records",
    )  # fmt: skip
    one.add_argument(
        "--values", nargs="+", metavar="COLUMN=VALUE,...",
        help="the values of columns in their order, or a file with such a text in every line. With a table,"
        " of some columns, whose combinations are all possible then. Without a table, of every column: for"
        " protection from anyone, with errors as if all values were equally frequent (needs --records, or"
        " --epsilon and --error)",
    )  # fmt: skip
    one.add_argument("--count", metavar="COLUMN", help="the column of counts in --table (default: count)")
    weight_options(one)
    one.add_argument(
        "--sensitive", nargs="+", required=True, metavar="COLUMN", help="the columns to be protected"
    )
    one.add_argument(
        "--useful", nargs="+", default=[], metavar="COLUMN",
        help="the columns to be reported together with the sensitive ones; several columns are treated as one"
        " (default: none, so that the whole record is sensitive)",
    )  # fmt: skip
    one.add_argument(
        "--bins", nargs="+", default=[], metavar="COLUMN=N",
        help="put the numbers of a column into N groups with about as many records each or, with"
        " COLUMN=18,40,65, into groups that begin at these numbers",
    )  # fmt: skip
    _missing_option(one)


def _design_options(one: argparse.ArgumentParser) -> None:
    """Add the options of `design` that describe the mechanism."""
    one.add_argument(
        "--against", choices=["insider-only", "outsider", "acquaintance", "anyone"],
        help="from whom the sensitive value has to be protected (default: acquaintance, and anyone"
        " without a table); insider-only is local label differential privacy",
    )  # fmt: skip
    goal = one.add_mutually_exclusive_group()
    goal.add_argument("--epsilon", type=number, metavar="NATS", help="the level, above 0 and at most 20")
    goal.add_argument(
        "--utility", type=number, metavar="NMI",
        help="find the least level, to 0.001, at which reports carry this share of the information of a"
        " record (NMI), between 0 and 1",
    )  # fmt: skip
    several = one.add_mutually_exclusive_group()
    several.add_argument(
        "--reports", type=whole, metavar="M",
        help="design for M reports of every person, which together keep the level --epsilon (default: 1)",
    )  # fmt: skip
    several.add_argument(
        "--budget", type=number, metavar="NATS",
        help="design a report of the level --epsilon for people who give several, by this channel and others"
        " of the same budget: their levels may add up to this",
    )  # fmt: skip
    one.add_argument(
        "--error", type=number, metavar="E",
        help="an error of estimated frequencies (root mean square). With --epsilon or --utility, print the"
        " number of reports that gives this error (default: 0.01). Otherwise find the least level, to 0.001,"
        " at which the number of reports in --records gives this error",
    )  # fmt: skip
    one.add_argument(
        "--for", dest="purpose", choices=["frequencies", "information"],
        help="compute the mechanism with the smallest error of estimated frequencies, or the one whose"
        " reports carry the most information (default: frequencies; with --utility, information)",
    )  # fmt: skip
    one.add_argument(
        "--precise", metavar="WHAT",
        help="what the estimates have to be precise for, and --error refers to: the frequencies of whole"
        " records (cells), of sensitive values (S), of useful values (U), the rates of sensitive values given"
        " useful ones, their differences, or coefficients of a logistic regression, as in 'illness ~ age' or,"
        " for one of them, 'age in illness ~ age + region'; of a questionnaire, whose columns are all"
        " sensitive, the shares of each question, all tables of two (pairs), or of three (triples) (default:"
        " cells, and pairs of three or more columns without --useful)",
    )  # fmt: skip
    expect_option(one)
    one.add_argument(
        "--compare", action="store_true",
        help="compute all mechanisms that are suitable, and print tables that compare them",
    )  # fmt: skip
    one.add_argument(
        "--details", action="store_true",
        help="print the values, the levels and errors of what was computed, the promise, and what would help"
        " if the reports are too few",
    )  # fmt: skip
    one.add_argument(
        "--mechanism", metavar="NAME",
        help="consider only the mechanism that the printed tables call NAME (default: all);"
        " my_module:function is a mechanism of your own, which is used if its level, which is computed, is at"
        " most --epsilon",
    )  # fmt: skip
    one.add_argument(
        "--cone", nargs="+", metavar="MODULE:FUNCTION",
        help="choose among mechanisms whose columns are also in cones of your own",
    )  # fmt: skip
    one.add_argument(
        "--beta", type=number, default=0.05, metavar="P",
        help="F contains the true distribution, and the intervals contain its odds ratios, with confidence"
        " 1 - P each (default: 0.05)",
    )  # fmt: skip
    one.add_argument(
        "--confidence-method", choices=["asymptotic", "finite"], default="asymptotic",
        help="whether F has this confidence with many records (asymptotic), or with any number of them, which"
        " makes F larger (default: asymptotic)",
    )  # fmt: skip
    one.add_argument(
        "--radius-factor", type=number, default=1.0, metavar="X",
        help="multiply the radius of F by X, for a population that may have changed since the table was"
        " counted (default: 1)",
    )  # fmt: skip
    one.add_argument(
        "--alpha", type=number, default=2.0, metavar="ORDER",
        help="F is a ball in the Renyi divergence of this order (default: 2)",
    )  # fmt: skip
    one.add_argument(
        "--records", type=whole, metavar="N",
        help="the number of records that will be privatized, which determines the errors (default: as many"
        " as were counted)",
    )  # fmt: skip
    one.add_argument(
        "--max-seconds", type=number, metavar="SECONDS",
        help="go on with the best mechanisms found after this time; a warning says so (default: 20 for the"
        " smallest error at a level, otherwise no limit)",
    )  # fmt: skip
    one.add_argument(
        "--prove", type=number, metavar="SECONDS",
        help="use so much time, after the search for the smallest error, for a bound on all mechanisms, which"
        " --details prints (default: 5)",
    )  # fmt: skip
    one.add_argument(
        "--out", default="channel.json", metavar="JSON",
        help="the file for the channel; its matrix, thresholds, known answers, weights, sampler and"
        " certificate are written to the same folder (default: channel.json)",
    )  # fmt: skip
    one.add_argument(
        "--force", action="store_true",
        help="replace another channel in that file, whose reports can then not be decoded any more",
    )  # fmt: skip
    _picture_option(one, "the matrix of the channel")
    _spreadsheet_option(one)
    _printing_options(one)


def _apply_options(two: argparse.ArgumentParser) -> None:
    _channel_option(two)
    two.add_argument(
        "--data", required=True, metavar="FILE", help="a file of records with the columns of the channel"
    )
    two.add_argument("--out", required=True, metavar="CSV", help="the file for their reports")
    two.add_argument(
        "--keep", nargs="+", default=[], metavar="COLUMN",
        help="columns to copy unchanged; nothing limits what they reveal",
    )  # fmt: skip
    _column_option(two)
    _missing_option(two)
    two.add_argument(
        "--memo", metavar="FILE",
        help="store the report of every person in this file, and repeat it whenever the person reports again",
    )  # fmt: skip
    two.add_argument("--id", metavar="COLUMN", help="the column that identifies people, for --memo")
    two.add_argument(
        "--wave", metavar="NAME", default="",
        help="for a channel that is for several reports of a person: the name of the occasion, such as 2027."
        " Reports of the same wave are repeated, those of another one are drawn if the memo says that the"
        " person has some left",
    )  # fmt: skip
    _spreadsheet_option(two)
    two.add_argument("--seed", type=whole, help="make the reports predictable; allowed with --insecure only")
    two.add_argument(
        "--insecure",
        action="store_true",
        help="allow --seed, for tests only; the reports then protect nobody",
    )
    two.add_argument("--quiet", action="store_true", help=QUIET)


def _estimate_options(three: argparse.ArgumentParser) -> None:
    _channel_option(three)
    three.add_argument("--data", required=True, metavar="FILE", help="a file of reports, as written by apply")
    _column_option(three)
    three.add_argument(
        "--id", metavar="COLUMN",
        help="a column that identifies people, of each of whom the first report is counted",
    )  # fmt: skip
    three.add_argument(
        "--despite-misfit", action="store_true",
        help="estimate reports that do not fit the channel, with a warning (default: they are refused)",
    )  # fmt: skip
    confidence_option(three, "each interval")
    three.add_argument(
        "--simultaneous", action="store_true",
        help="let --confidence apply to all frequencies together, and to all rates and comparisons together",
    )  # fmt: skip
    three.add_argument("--out", metavar="CSV", help="write the estimates to this file")
    _spreadsheet_option(three)
    _printing_options(three)
    three.add_argument(
        "--compare-with", nargs="+", metavar="VALUE",
        help="the useful value that the rates given all others are compared with, a VALUE for each useful"
        " column (default: the most frequent one in the table of the design)",
    )  # fmt: skip
    sample_options(three)
    _picture_option(three, "the estimates with their intervals")


def _change_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--channel", required=True, nargs="+", metavar="JSON",
        help="the channel file of both waves, or one of each",
    )  # fmt: skip
    parser.add_argument(
        "--data", required=True, nargs=2, metavar="FILE", help="the reports of the first and the second wave"
    )
    _column_option(parser)
    parser.add_argument(
        "--id", metavar="COLUMN",
        help="a column that identifies people in both files; some may be in both (default: nobody is)",
    )  # fmt: skip
    confidence_option(parser, "each interval")
    parser.add_argument(
        "--simultaneous", action="store_true", help="let --confidence apply to all changes together"
    )
    parser.add_argument("--json", action="store_true", help=JSON)


def _picture_option(one: argparse.ArgumentParser, what: str) -> None:
    one.add_argument(
        "--plot", "--picture", dest="picture", metavar="FILE",
        help=f"draw {what} to this file, which ends in .svg, .pdf or .png",
    )  # fmt: skip


def _audit_options(four: argparse.ArgumentParser) -> None:
    _channel_option(four)
    samples = four.add_mutually_exclusive_group()
    samples.add_argument("--samples", type=whole, metavar="N", help="privatize this number of random records")
    samples.add_argument(
        "--data", metavar="FILE",
        help="a file of records with their reports, as written by apply if --keep names all columns of the"
        " channel",
    )  # fmt: skip
    _column_option(four)
    _missing_option(four)
    confidence_option(four, "the lower bound")
    _printing_options(four)


def _channel_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--channel", required=True, metavar="JSON", help="a channel file, as written by design"
    )


def _column_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--column",
        default="report",
        metavar="NAME",
        help="the column that contains the reports (default: report)",
    )


def _missing_option(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how values are read."""
    parser.add_argument(
        "--missing", metavar="VALUE",
        help="what becomes of missing values (empty fields and texts such as NA, None, ? and -): a name that"
        " takes their place, such as unknown. In a design also drop, which leaves these records out, and"
        " keep, which takes the texts for answers (default: they are refused)",
    )  # fmt: skip
    parser.add_argument(
        "--missing-codes", nargs="+", default=[], metavar="CODE",
        help="more codes for missing values, such as 99 -9 Refused, or age=99 for one column",
    )  # fmt: skip
    parser.add_argument(
        "--decimal", choices=[".", ","], default=".",
        help="what the decimals of numbers follow, in columns with groups and of weights (default: a point)",
    )  # fmt: skip


def _spreadsheet_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--spreadsheet", action="store_true",
        help="in CSV files, put an apostrophe before a text that a spreadsheet program would take for a"
        " formula, such as =1+1",
    )  # fmt: skip


def _printing_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--json", action="store_true", help=JSON)
    group.add_argument("--quiet", action="store_true", help=QUIET)
