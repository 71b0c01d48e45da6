"""The command `ldp-frontier`: design, apply, estimate, audit and verify."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext, redirect_stdout
from importlib import import_module
from io import StringIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

from ldpfrontier.extras import MissingExtra
from ldpfrontier.practice.layout import wrapped

if TYPE_CHECKING:
    from ldpfrontier.practice.channel_file import PrivateChannel

PROGRAM = "ldp-frontier"

#: Exit status of an audit that found something, and of an error.
FOUND, FAILED, INTERRUPTED = 1, 2, 130

#: The error that numbers of reports are given for, unless one is asked for.
USUAL_ERROR = 0.01

#: Most letters of an error: a name in it may be a whole file.
LONGEST = 1000

_DESCRIPTION = (
    "Design a privacy mechanism for one table, privatize records with it, estimate from them, audit it."
)

_DESIGN = """\
Solve mechanisms for a table and write the chosen one.

A privacy level L means that a report changes the odds between any two
sensitive values by at most a factor e^L. It holds for the attackers of
--against: an outsider knows nothing else about the person, an insider knows
the useful value as well, and anyone may know or believe anything. Without
--useful all of a record is sensitive, and the level holds for anyone. What
nobody knows exactly is the distribution of the table: for outsiders the level
holds over its confidence set F.

The table is treated as public: its counts are written into the channel file.
The level is for people who report later, each once, not for those who were
counted."""

_APPLY = """\
Write a report for every record of a CSV file, in the order of the records,
and nothing else, unless --keep names columns. The reports are drawn with
random bytes of the operating system, by the whole numbers in the channel
file."""

_ESTIMATE = """\
Estimate how frequent values are from reports: the most likely distribution,
unbiased estimates, and confidence intervals that hold for any number of
reports. What the channel does not show has an interval only."""

_AUDIT = """\
Compute the privacy level of the stored matrix again, and bound the level of
samples from below. The exit status is 1 if something is wrong."""

_VERIFY = """\
Check certificates with exact arithmetic, by a program of one file that needs
nothing else of the package (ldpfrontier/verify.py). The exit status is 0 if
every claim of every file is proved, 1 if one is not, 2 if a file is malformed."""

_QUIET = "print nothing but warnings and errors"


class Progress:
    """A line on the terminal that says how far something is; none if there is no terminal, or `quiet`."""

    quiet = False

    def __init__(self, words: str) -> None:
        self._words, self._next, self._shown = words, 0.0, False

    def __call__(self, done: object) -> None:
        """Show how far it is, at most ten times a second."""
        if not self.quiet and sys.stderr.isatty() and time.monotonic() >= self._next:
            print(f"\r\x1b[K{self._words.format(done)}", end="", file=sys.stderr, flush=True)
            self._next, self._shown = time.monotonic() + 0.1, True

    def end(self) -> None:
        """Remove the line."""
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit status: 0, 1 of an audit that found something, 2 of an error."""
    if isinstance(sys.stdout, TextIOWrapper):
        # A value that a terminal has no letter for must not end a command that has written its files.
        sys.stdout.reconfigure(errors="backslashreplace")
    parser = _parser()
    options = parser.parse_args(arguments)
    if any("\0" in argument for argument in arguments or ()):
        parser.error("an argument has a NUL character, which no name of a file has")
    if options.run is apply and (options.seed is not None) != options.insecure:
        parser.error("--seed and --insecure go together; without both, reports are drawn securely")
    if options.run is apply and (options.memo is None) != (options.id is None):
        parser.error("--memo and --id go together: the file of the reports, and the column of the persons")
    if options.run is design and options.epsilon is options.utility is options.error is None:
        parser.error("one of --epsilon, --utility and --error is needed")
    if options.run is design and options.data is not None and options.count is not None:
        parser.error("--count is for --table; records of --data count once each")
    if options.run is estimate and options.quiet and options.out is options.picture is None:
        parser.error("--quiet without --out and --picture leaves nothing of an estimate")
    Progress.quiet = options.quiet
    try:
        with redirect_stdout(StringIO()) if options.quiet else nullcontext():
            return int(options.run(options))
    except OSError as problem:
        where = f"{problem.filename or repr(problem.filename)}: " if problem.filename is not None else ""
        _say(f"{where}{problem.strerror or problem}.")
    except (ValueError, ArithmeticError, RuntimeError, MissingExtra) as problem:
        _say(str(problem))
    except KeyboardInterrupt:
        print(f"{PROGRAM}: interrupted; nothing was written.", file=sys.stderr)
        return INTERRUPTED
    return FAILED


def _say(sentence: str) -> None:
    """Say why a command failed, on one line that a terminal can show."""
    plain = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in sentence)
    shown = plain if len(plain) <= LONGEST else f"{plain[: LONGEST // 2]} ... {plain[-LONGEST // 2 :]}"
    print(f"{PROGRAM}: {shown}", file=sys.stderr)


# The commands ---------------------------------------------------------------------------------------------


def design(options: argparse.Namespace) -> int:
    """Design a channel."""
    from ldpfrontier.practice.binning import parsed_bins
    from ldpfrontier.practice.channel_file import written_files
    from ldpfrontier.practice.counts import count_records, read_count_table
    from ldpfrontier.practice.design import design_channel, least_epsilon
    from ldpfrontier.practice.exports import design_json, files_beside
    from ldpfrontier.practice.outputs import check_outputs
    from ldpfrontier.practice.texts import choice_text, design_text

    source = options.table if options.data is None else options.data
    check_outputs(written_files(options.out), [source])
    reading = {"missing": options.missing, "bins": parsed_bins(options.bins)}
    if options.data is not None:
        counting = Progress("{:,} records counted")
        table = count_records(
            options.data, options.sensitive, options.useful, progress=counting, remark=_warn, **reading
        )
        counting.end()
    else:
        count = "count" if options.count is None else options.count
        table = read_count_table(options.table, options.sensitive, options.useful, count=count, **reading)
    for hint in table.hints:
        _warn(hint)
    choice = {"against": options.against, "beta": options.beta, "order": options.alpha}
    choice["records"] = options.records
    epsilon = options.epsilon
    if epsilon is None:
        search = Progress("looking for the least epsilon, at {:.3f}")
        aim = {"utility": options.utility, "error": options.error if options.utility is None else None}
        epsilon = least_epsilon(table, **aim, mechanism=options.mechanism, progress=search, **choice)
        search.end()
    solving = Progress("solving for {}")
    names = None if options.mechanism is None else [options.mechanism]
    made = design_channel(table, epsilon, mechanisms=names, progress=solving, **choice)
    solving.end()
    best = made.best(options.purpose)
    private = made.private(best)
    if options.useful and options.alpha > 2.0:
        _warn(
            f"of order {options.alpha:g} F may have the true distribution much less often than with"
            f" confidence {1.0 - options.beta:g}: the quantile that its size comes from is exact for large"
            " tables alone."
        )
    draw, no_picture = _channel_drawing(private)
    paths = private.write(options.out, draw, files_beside(private))
    if options.json:
        print(design_json(made, best, private, list(map(str, paths))))
        return 0
    print(design_text(made, best, options.error or USUAL_ERROR))
    print(f"\nChosen: {best.name}, for {options.purpose}, at epsilon {epsilon:g}.")
    for words in (private.promise(), choice_text(made, best)):
        print(wrapped(words) + "\n" if words else "", end="")
    print(f"Written: {', '.join(map(str, paths))}.{no_picture}")
    print()
    print(
        wrapped(
            f"The table {table.source} is treated as public: its counts are in {options.out}. The promise is"
            " for people who report once with this channel, not for those that were counted."
        )
    )
    return 0


def _channel_drawing(private: PrivateChannel) -> tuple[Callable[[Path], None] | None, str]:
    """Return the function that draws a channel to a path; without matplotlib, None and a sentence why."""
    try:
        from ldpfrontier.practice.pictures import channel_picture, draw
    except MissingExtra as missing:
        return None, f" There is no picture: {missing}"
    return lambda path: draw(channel_picture(private), path), ""


def apply(options: argparse.Namespace) -> int:
    """Privatize records."""
    from ldpfrontier.practice.channel_file import read_channel
    from ldpfrontier.practice.memo import Memo
    from ldpfrontier.practice.outputs import check_outputs
    from ldpfrontier.practice.privatizing import privatize_file, privatize_persons
    from ldpfrontier.practice.sampling import Source

    outputs = [options.out] if options.memo is None else [options.out, options.memo]
    check_outputs(outputs, [options.channel, options.data])
    private = read_channel(options.channel).verified()
    source: Source | None = None
    if options.insecure:
        import numpy as np

        from ldpfrontier.numerics.arguments import as_count

        seed = as_count(options.seed, "The seed", "a whole number, 0 or more")
        _warn("INSECURE: the reports are drawn from a seed. Whoever knows it, or guesses it, can undo them;")
        _warn("INSECURE: they are good for tests and examples, and protect nobody.")
        source = np.random.default_rng(seed).bytes
    working = Progress("{:,} records privatized")
    ways = {"keep": tuple(options.keep), "column": options.column, "missing": options.missing}
    if options.memo is None:
        done = privatize_file(private, options.data, options.out, source=source, progress=working, **ways)
    else:
        memo = Memo(options.memo, options.id, source)
        done = privatize_persons(private, options.data, options.out, memo, progress=working, **ways)
    working.end()
    print(f"{done.records:,} records privatized.")
    if options.memo is not None:
        print(f"{done.again:,} of them repeat the report that their person gave before ({options.memo}).")
    print(wrapped(private.promise()))
    print(f"Written: {options.out}.")
    if done.removed:
        _warn(
            f"an earlier run for {options.out} was killed. The reports that it left were removed:"
            f" {', '.join(map(str, done.removed))}. If they were passed on, these people have reported twice."
        )
    if done.designed_from:
        _warn(
            "these records have the very counts that the channel was designed from. The guarantee does not"
            f" cover them: {options.channel} has their counts."
        )
    if options.keep:
        _warn(f"{', '.join(options.keep)} of each record is in {options.out} as it is.")
    return 0


def estimate(options: argparse.Namespace) -> int:
    """Estimate a distribution."""
    from ldpfrontier.atomic import replacing
    from ldpfrontier.practice.channel_file import read_channel
    from ldpfrontier.practice.estimation import count_reports, estimate_distribution
    from ldpfrontier.practice.outputs import check_outputs
    from ldpfrontier.practice.texts import estimate_csv, estimate_text

    outputs = [path for path in (options.out, options.picture) if path is not None]
    check_outputs(outputs, [options.channel, options.data])
    private = read_channel(options.channel)
    reading = Progress("{:,} reports read")
    counts = count_reports(private, options.data, column=options.column, progress=reading)
    reading.end()
    found = estimate_distribution(
        private, counts, confidence=options.confidence, simultaneous=options.simultaneous
    )
    with ExitStack() as stack:  # both or none
        if options.out is not None:
            partial = stack.enter_context(replacing(options.out))
            partial.write_text(estimate_csv(found), encoding="utf-8", newline="\n")
        if options.picture is not None:
            from ldpfrontier.practice.pictures import check_picture, draw, estimate_picture

            check_picture(options.picture)
            draw(estimate_picture(found), stack.enter_context(replacing(options.picture)))
    if options.json:
        from ldpfrontier.practice.exports import as_json

        print(as_json(found))
        return 0
    print(estimate_text(found))
    print("\n" + wrapped(f"Promised to those who reported: {private.promise()}"))
    if outputs:
        print(f"\nWritten: {', '.join(outputs)}.")
    return 0


def audit(options: argparse.Namespace) -> int:
    """Audit a channel."""
    from ldpfrontier.practice.auditing import audit_channel, count_pairs
    from ldpfrontier.practice.channel_file import read_channel
    from ldpfrontier.practice.texts import audit_text

    private = read_channel(options.channel)
    pairs = None
    if options.data:
        reading = Progress("{:,} records read")
        pairs = count_pairs(
            private, options.data, column=options.column, missing=options.missing, progress=reading
        )
        reading.end()
    found = audit_channel(private, samples=options.samples or 0, pairs=pairs, confidence=options.confidence)
    if options.json:
        from ldpfrontier.practice.exports import as_json

        print(as_json(found, promise=private.promise()))
        return FOUND if found.problems else 0
    if options.quiet:
        for problem in found.problems:
            _warn(problem)
    print(audit_text(found, private))
    return FOUND if found.problems else 0


def verify(options: argparse.Namespace) -> int:
    """Check certificates."""
    from ldpfrontier.verify import main as check_files

    return check_files(options.files)


def _warn(text: str) -> None:
    print(f"{PROGRAM}: warning: {text}", file=sys.stderr)


# Arguments ------------------------------------------------------------------------------------------------


# Longer than other functions: a statement for every option.
def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=PROGRAM, description=_DESCRIPTION)
    version = f"{PROGRAM} {import_module('ldpfrontier').__version__}"
    parser.add_argument("--version", action="version", version=version)
    parser.set_defaults(quiet=False)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, help_: str, text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(
            name, help=help_, description=text, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        added.set_defaults(run=globals()[name])
        return added

    one = command("design", "find the best mechanism for a table", _DESIGN)
    table = one.add_mutually_exclusive_group(required=True)
    table.add_argument(
        "--data",
        metavar="FILE",
        help="records: CSV with a header and any usual separator, or Parquet; - is the standard input",
    )
    table.add_argument(
        "--table", metavar="FILE", help="counts: the same, with a row per combination of values"
    )
    one.add_argument("--count", metavar="COLUMN", help="of --table: the column of the counts (count)")
    one.add_argument(
        "--sensitive", nargs="+", required=True, metavar="COLUMN", help="what is to be protected"
    )
    one.add_argument(
        "--useful", nargs="+", default=[], metavar="COLUMN",
        help="what else is to be reported; several columns are taken together. None: all is sensitive",
    )  # fmt: skip
    one.add_argument(
        "--bins", nargs="+", default=[], metavar="COLUMN=N",
        help="groups of numbers: N of about as many records each, or COLUMN=18,40,65, where they begin",
    )  # fmt: skip
    _missing_argument(one)
    one.add_argument(
        "--against", choices=["outsider", "insider", "anyone"], default="insider",
        help="whom the level has to hold for: who knows nothing else about a person; who knows what is useful"
        " as well; or whatever they know or believe (insider)",
    )  # fmt: skip
    goal = one.add_mutually_exclusive_group()
    goal.add_argument("--epsilon", type=float, metavar="NATS", help="privacy level, above 0 and at most 20")
    goal.add_argument(
        "--utility", type=float, metavar="NMI",
        help="instead: the least epsilon, to 0.001, at which the NMI is this, between 0 and 1",
    )  # fmt: skip
    one.add_argument(
        "--error", type=float, metavar="E",
        help="root mean square error of estimated frequencies: with --epsilon, the tables say how many"
        " reports give it (0.01); without, the least epsilon, to 0.001, at which --records reports do",
    )  # fmt: skip
    one.add_argument(
        "--for", dest="purpose", choices=["frequencies", "information"], default="frequencies",
        help="choose what frequencies are estimated from best, or what tells most of a record (frequencies)",
    )  # fmt: skip
    one.add_argument(
        "--mechanism", metavar="NAME",
        help="solve this one only, of those that the tables list; polyopt is there --against outsider"
        " (default: the best of all)",
    )  # fmt: skip
    one.add_argument("--beta", type=float, default=0.05, help="1 - confidence of F (0.05)")
    one.add_argument("--alpha", type=float, default=2.0, help="Renyi order of F (2)")
    one.add_argument(
        "--records",
        type=int,
        metavar="N",
        help="how many records will be privatized (as many as the table has)",
    )
    one.add_argument(
        "--out", default="channel.json", metavar="JSON",
        help="the channel; its matrix, thresholds, known answers, weights, sampler and picture lie beside it"
        " (channel.json)",
    )  # fmt: skip
    _json_argument(one)

    two = command("apply", "privatize records", _APPLY)
    _channel_argument(two)
    two.add_argument("--data", required=True, metavar="CSV", help="records, with the columns of the channel")
    two.add_argument("--out", required=True, metavar="CSV", help="their reports")
    two.add_argument(
        "--keep", nargs="+", default=[], metavar="COLUMN",
        help="columns to copy as they are; what they tell is not limited",
    )  # fmt: skip
    _column_argument(two)
    _missing_argument(two)
    two.add_argument(
        "--memo", metavar="FILE",
        help="keep the report of every person, and give it again whenever the person reports again",
    )  # fmt: skip
    two.add_argument("--id", metavar="COLUMN", help="of --memo: the column that says who a person is")
    two.add_argument("--seed", type=int, help="make the reports predictable; only with --insecure")
    two.add_argument("--insecure", action="store_true", help="allow --seed: no protection, for tests only")
    two.add_argument("--quiet", action="store_true", help=_QUIET)

    three = command("estimate", "estimate how frequent values are from reports", _ESTIMATE)
    _channel_argument(three)
    three.add_argument("--data", required=True, metavar="CSV", help="reports, as apply writes them")
    _column_argument(three)
    _confidence_argument(three, "of each interval")
    three.add_argument(
        "--simultaneous", action="store_true", help="make it the confidence of all intervals together"
    )
    three.add_argument("--out", metavar="CSV", help="write the estimates")
    _json_argument(three)
    three.add_argument("--picture", metavar="FILE", help="draw them; a .svg, .pdf or .png file")

    four = command("audit", "check what a channel keeps", _AUDIT)
    _channel_argument(four)
    samples = four.add_mutually_exclusive_group()
    samples.add_argument(
        "--samples", type=int, metavar="N", help="privatize this many records of random values"
    )
    samples.add_argument(
        "--data", metavar="CSV",
        help="records with their reports, as apply --keep writes them if all columns of the channel are kept",
    )  # fmt: skip
    _column_argument(four)
    _missing_argument(four)
    _confidence_argument(four, "of the lower bound")
    _json_argument(four)

    five = command("verify", "check certificates", _VERIFY)
    five.add_argument("files", nargs="+", metavar="FILE", help="a certificate")
    return parser


def _channel_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--channel", required=True, metavar="JSON", help="a channel, as design writes it")


def _column_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--column", default="report", help="name of the column of the reports (report)")


def _missing_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--missing", metavar="VALUE", help="take missing values for this value, such as unknown (refuse them)"
    )


def _json_argument(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--json", action="store_true", help="print the same as JSON, for programs")
    group.add_argument("--quiet", action="store_true", help=_QUIET)


def _confidence_argument(parser: argparse.ArgumentParser, of: str) -> None:
    parser.add_argument("--confidence", type=float, default=0.95, help=f"{of}, between 0 and 1 (0.95)")


if __name__ == "__main__":
    sys.exit(main())
