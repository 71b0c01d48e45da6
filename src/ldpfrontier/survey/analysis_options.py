"""The options of the commands `channel`, `people`, `regress` and `level`, and of samples, and help texts."""

from __future__ import annotations

import argparse

from ldpfrontier.survey.option_parts import JSON, QUIET, confidence_option, number

CHANGE = """\
Estimate how the shares of values have changed between two waves of a survey,
with confidence intervals for many reports. With --id, people may be in both
waves: how their reports depend on each other is estimated from the data."""

AUDIT = """\
Compute the privacy level of the stored channel again. With --samples or --data,
also compute a lower bound on the level of the reports that were drawn. The exit
status is 1 if a promise of the channel does not hold."""

VERIFY = """\
Check certificates in exact arithmetic. The checker is a single file that uses
no other part of the package (ldpfrontier/verify.py). The exit status is 0 if
every claim of every file is proved, 1 if some claim is not, and 2 if a file is
malformed."""

CHANNEL = """\
Write the channel file of a survey that was taken already, from its matrix or
from a classical design of randomized response. Its level is measured. Then
estimate, audit and regress take its reports. Of two values, the second one is
the sensitive answer. Numbers may be fractions such as 1/6.

  warner      --p: asked for the statement, else for its opposite
  forced      --yes, --no: forced to say so, else the truth
  unrelated   --p: asked the sensitive question; --q: yes to the other one
  crosswise   --p: yes to the other question; reports different, same
  triangular  --p: yes to the other question; reports neither, some
  kuk         --p, --q: red cards, with and without the trait; --cards drawn
  pram        --p: the value is kept, else any value is drawn

example:
  ldp-frontier channel --values contact=no,yes --design forced --yes 1/6 --no 1/6"""

REGRESS = """\
Fit a logistic regression in which the columns of a channel are known through
reports alone: the outcome, as in "illness ~ age + region", predictors, as in
"votes ~ illness + age", or both. Coefficients are log odds ratios, found by
maximum likelihood, with standard errors from the observed information. The data
have the reports and the other variables in a row per person (apply --keep)."""

PEOPLE = """\
Compute how many people have to report through a channel: for a standard error,
for intervals that are at most so wide with a probability, or for the power to
tell a difference or a coefficient from 0 (or from --value). What is expected is
the table of the channel, unless --expect says otherwise.

examples:
  ldp-frontier people --channel channel.json --precise differences --power 0.8 \\
      --expect north=0.10 south=0.15
  ldp-frontier people --channel channel.json --precise cells --width 0.05 \\
      --expect yes=0.2"""

LEVEL = """\
Compute what several reports of one person reveal together, each drawn with one
of the channels, and to whom. A channel with which a person reports twice is named
twice. All channels must be designed for the same values and from the same table."""


def known_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `channel`."""
    parser.add_argument(
        "--values", nargs="+", required=True, metavar="COLUMN=VALUE,...",
        help="the values of the column that was asked for, in their order; of several columns, all of them",
    )  # fmt: skip
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument(
        "--matrix", metavar="CSV",
        help="the chances of the reports: a row for each value, its columns first, then one for each report",
    )  # fmt: skip
    kind.add_argument(
        "--design",
        choices=["warner", "forced", "unrelated", "crosswise", "triangular", "kuk", "pram"],
        help="a classical design, with its parameters",
    )
    for option in ("--p", "--q", "--yes", "--no", "--cards"):
        parser.add_argument(option, metavar="NUMBER", help="a parameter of the design")
    parser.add_argument(
        "--reports", nargs="+", metavar="NAME",
        help="how the data name the reports (default: as the matrix or the design does)",
    )  # fmt: skip
    parser.add_argument(
        "--out", default="channel.json", metavar="JSON", help="the channel file to be written"
    )
    parser.add_argument("--force", action="store_true", help="replace another channel in that file")
    parser.add_argument("--quiet", action="store_true", help=QUIET)


def regress_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `regress`."""
    parser.add_argument("--channel", required=True, metavar="JSON", help="a channel file of one table")
    parser.add_argument("--data", required=True, metavar="FILE", help="a CSV file of reports and covariates")
    parser.add_argument(
        "--formula", required=True,
        help="names all columns of the channel, as the outcome or predictors; I(x**2), C(x), a:b as usual",
    )  # fmt: skip
    parser.add_argument("--column", default="report", metavar="NAME", help="the column that has the reports")
    confidence_option(parser, "each interval")
    parser.add_argument("--json", action="store_true", help=JSON)


def people_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `people`."""
    parser.add_argument("--channel", required=True, metavar="JSON", help="a channel file of one table")
    parser.add_argument(
        "--precise", default="cells", metavar="WHAT",
        help="what is estimated, as of design: cells, S, U, rates, differences, shares, pairs, triples, or"
        " coefficients by a formula (default: cells)",
    )  # fmt: skip
    expect_option(parser)
    aim = parser.add_mutually_exclusive_group(required=True)
    aim.add_argument("--error", type=number, metavar="E", help="a standard error")
    aim.add_argument("--width", type=number, metavar="W", help="a width of intervals")
    aim.add_argument(
        "--power", type=number, metavar="P", help="the probability that an interval does not contain --value"
    )
    parser.add_argument(
        "--probability", type=number, default=0.9, metavar="P",
        help="with --width: the probability that an interval is at most so wide (default: 0.9)",
    )  # fmt: skip
    parser.add_argument(
        "--value",
        type=number,
        default=0.0,
        metavar="X",
        help="with --power: the value that the interval must not contain (default: 0)",
    )
    confidence_option(parser, "each interval")
    parser.add_argument("--json", action="store_true", help=JSON)


def expect_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that says what is expected of the people who will report."""
    parser.add_argument(
        "--expect", nargs="+", default=[], metavar="VALUE=NUMBER",
        help="what is expected of those who will report, at which errors are computed, if it is not what the"
        " table has: shares of values or, with useful columns, rates of the second of two sensitive values"
        " given useful ones",
    )  # fmt: skip


def level_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `level`."""
    parser.add_argument("files", nargs="+", metavar="JSON", help="a channel file, as written by design")
    parser.add_argument("--json", action="store_true", help=JSON)


def weight_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `design` that are about weighted shares."""
    parser.add_argument(
        "--weight", metavar="COLUMN",
        help="the column of survey weights: in --data of people, which tell how sure the shares are; in"
        " --table of totals, which do not (needs --records)",
    )  # fmt: skip
    for option, what in (
        ("--people", "the number of people behind weighted shares, with --design-effect"),
        ("--design-effect", "the largest design effect of these shares, which clusters make larger"),
    ):
        parser.add_argument(
            option, type=number, metavar="NUMBER", help=f"{what}; needed for totals of weights"
        )


def weight_problem(options: argparse.Namespace) -> str:
    """Return a sentence on options of weights and counts that do not go together; nothing if they do."""
    if options.count is not None and (options.data is not None or options.weight is not None):
        return "--count names the numbers of people in --table, and does not go with --data or --weight"
    if options.weight is None and not options.people is options.design_effect is None:
        return "--people and --design-effect are about weighted shares, and need --weight"
    return ""


#: Options of `estimate` that are about samples of people.
OF_SAMPLES = ("weight", "strata", "by", "replicates", "replicate_method")


def sample_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `estimate` about means, cumulative shares, and weighted and stratified samples."""
    parser.add_argument(
        "--mean", nargs="+", metavar="COLUMN",
        help="also estimate the mean of a column of numbers; COLUMN=1,2,3 gives a number to each of its"
        " values, in the order of the channel",
    )  # fmt: skip
    parser.add_argument(
        "--cumulative", nargs="+", metavar="COLUMN",
        help="also estimate the shares of people with each value of a column or one before it, in the order"
        " of the channel (design --values says what it is)",
    )  # fmt: skip
    for option, what in (
        ("--weight", "survey weights of the people, a column that apply --keep has copied"),
        ("--strata", "the strata that people were drawn from, a column like that"),
        ("--by", "estimate each group of people with the same value of this column"),
    ):
        parser.add_argument(option, metavar="COLUMN", help=what)
    parser.add_argument(
        "--replicates", nargs="+", metavar="COLUMN",
        help="replicate weights, columns like that; in quotation marks, 'repw*' is all columns so named",
    )  # fmt: skip
    parser.add_argument(
        "--replicate-method", metavar="METHOD",
        help="how they were made: brr, fay:RHO, jackknife (without strata), bootstrap, or the factor that"
        " makes sums of squares over the replicates a variance, such as 0.05",
    )  # fmt: skip
    parser.add_argument(
        "--rates", nargs=2, metavar=("A", "B"),
        help="of a questionnaire, also estimate the rates of the answers to question A given those to B",
    )  # fmt: skip
