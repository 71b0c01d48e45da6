"""The command `ldp-frontier`, with its commands from design to verify."""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
import warnings
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext, redirect_stdout
from io import StringIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ldpfrontier.extras import MissingExtra
from ldpfrontier.survey.layout import Remark, remark, wrapped
from ldpfrontier.survey.option_table import OF_SAMPLES
from ldpfrontier.survey.options import PROGRAM, read_options
from ldpfrontier.survey.questionnaire.routing import is_questionnaire, is_questionnaire_asked
from ldpfrontier.survey.settings import SETTINGS
from ldpfrontier.verify import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ldpfrontier.survey.own_methods import OwnFunction
    from ldpfrontier.survey.tables import CountTable

#: Exit status of an audit that found something, and of an error.
FOUND, FAILED, INTERRUPTED = 1, 2, 130

#: Exit status if nobody reads what is written to a pipe: that of a program which its signal ends.
UNREAD = 141

#: The errors that numbers of reports are given for, unless one is asked for: of shares, and of coefficients.
USUAL_ERROR, USUAL_LOGIT_ERROR = 0.01, 0.1

#: Most letters of an error: a name in it may be a whole file.
LONGEST = 1000


class Progress:
    """A line of progress on the terminal, which is omitted if there is no terminal, or with `quiet`."""

    quiet = False

    def __init__(self, words: str, pause: float = 0.1) -> None:
        self._words, self._pause, self._next, self._shown = words, pause, 0.0, False

    def __call__(self, done: object) -> None:
        """Show how far it is, unless the pause since the last time was too short."""
        if not self.quiet and sys.stderr.isatty() and time.monotonic() >= self._next:
            print(f"\r\x1b[K{self._words.format(done)}", end="", file=sys.stderr, flush=True)
            self._next, self._shown = time.monotonic() + self._pause, True

    def end(self) -> None:
        """Remove the line."""
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit status: 0, 1 of an audit that found something, 2 of an error."""
    if isinstance(sys.stdout, TextIOWrapper):
        # A value that a terminal has no letter for must not end a command that has written its files.
        sys.stdout.reconfigure(errors="backslashreplace")
    options = read_options(arguments)
    run = {"design": design, "apply": apply, "estimate": estimate, "audit": audit}
    run |= {"change": change, "verify": verify}
    run |= dict.fromkeys(("channel", "level", "people", "regress"), _analysis)
    Progress.quiet = options.quiet
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()) if options.quiet else nullcontext():
            warnings.simplefilter("always", Remark)
            warnings.showwarning = _show_warning
            status = run[options.command](options)
        if sys.stdout is not None:
            sys.stdout.flush()  # an error of the command, and not at the end of the interpreter
        return status
    except OSError as problem:
        _give_up_output()
        if isinstance(problem, BrokenPipeError):
            return UNREAD
        where = f"{problem.filename or repr(problem.filename)}: " if problem.filename is not None else ""
        _say(f"{where}{problem.strerror or problem}.")
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


# The commands ---------------------------------------------------------------------------------------------


def design(options: argparse.Namespace) -> int:
    """Design a channel."""
    from ldpfrontier import time_limit
    from ldpfrontier.atomic import replacing
    from ldpfrontier.survey.answer import answer_text
    from ldpfrontier.survey.channel_file import written_files
    from ldpfrontier.survey.design import design_channel
    from ldpfrontier.survey.exports import design_json, files_beside
    from ldpfrontier.survey.methods import LONGEST
    from ldpfrontier.survey.outputs import check_new
    from ldpfrontier.survey.targets import is_formula, with_expected

    sources = [source for source in (options.table, options.data) if source is not None]
    _check_outputs([*written_files(options.out), *_given(options.picture)], sources)
    if is_questionnaire_asked(options):
        from ldpfrontier.survey.questionnaire import command

        return command.design(options)
    if options.picture is not None:
        from ldpfrontier.survey.pictures import channel_picture, check_picture, draw

        check_picture(options.picture)
    options.precise = options.precise or "cells"
    table = with_expected(_table(options, sources), options.expect)
    usual = USUAL_LOGIT_ERROR if is_formula(options.precise) else USUAL_ERROR
    choice = {"against": options.against, "precise": options.precise, "records": options.records}
    choice |= {"beta": options.beta, "order": options.alpha}
    choice |= {"radius_method": options.confidence_method, "radius_factor": options.radius_factor}
    # The number that has the error is what is asked for, and any number has the same mechanism.
    unknown = options.records is None and not table.counted and None not in (options.epsilon, options.error)
    if unknown:
        choice["records"] = 1
    named, own, cones = _own_functions(options)
    if (own or cones) and options.epsilon is None:
        raise ValueError(
            "With a mechanism or a cone of your own, --epsilon is needed: the least level is looked for among"
            " other mechanisms."
        )
    epsilon, most = options.epsilon, options.max_seconds
    proof = SETTINGS.proof_seconds if options.prove is None else options.prove
    if most is None and epsilon is not None and options.purpose == "frequencies" and not options.compare:
        most = SETTINGS.search_seconds + proof
    if most is not None and options.max_seconds is None and options.reports is not None:
        most *= SETTINGS.calibrations
    with time_limit(most) as limit:
        if epsilon is None:
            from ldpfrontier.survey.least_level import least_epsilon

            search = Progress("looking for the least epsilon, at {:.3f}")
            aim = {"utility": options.utility, "error": options.error if options.utility is None else None}
            # Half of the time at most: the mechanisms at that level take some, too.
            aim |= {"max_seconds": most and most / 2}
            epsilon = least_epsilon(table, **aim, mechanism=named, progress=search, **choice)
            search.end()
        solving = Progress("solving for {}" + ("" if most is None else f" (at most {most:g} s)"), 0.0)
        choice |= {"mechanisms": None if named is None else [named], "own": own, "cones": cones}
        choice |= {"purpose": None if options.compare else options.purpose}
        choice |= {"progress": solving, "proof_seconds": proof}
        if options.reports is None:
            made = design_channel(table, epsilon, budget=options.budget, **choice)
        else:
            from ldpfrontier.survey.repeated import design_for_reports

            made = design_for_reports(table, epsilon, options.reports, options.purpose, **choice)
        solving.end()
    if limit.reached:
        remark(
            f"the time limit of {limit.seconds:g} s ended the computation; there may be better mechanisms,"
            " and --max-seconds allows more time. On another machine, the mechanism may be another one."
        )
    best = made.best(options.purpose)
    if unknown and math.isfinite(needed := made.reports_for(best, options.error)):
        made = made.for_records(int(needed))
        best = made.best(options.purpose)
    private = made.private(best)
    for candidate in made.candidates:
        if options.purpose == "information" and candidate.name in LONGEST and candidate.channel is None:
            remark(f"{candidate.name}, which {candidate.title}, is not among the choice: {candidate.note}")
    if made.population is not None and options.alpha > 2.0:
        remark(
            f"at order {options.alpha:g}, F may contain the true distribution much less often than with"
            f" confidence {1.0 - options.beta:g}, since the quantile that determines the size of F is"
            " accurate for large tables only."
        )
    if not options.force:
        check_new(private.text(), written_files(options.out))
    safe = {"spreadsheet": options.spreadsheet}
    with ExitStack() as stack:  # all or none
        if options.picture is not None:
            draw(channel_picture(private), stack.enter_context(replacing(options.picture)))
        paths = private.write(options.out, files_beside(private, **safe), **safe)
    paths += map(Path, _given(options.picture))
    if options.json:
        print(design_json(made, best, private, list(map(str, paths))))
        return 0
    print(answer_text(made, best, private, options.error or usual, options.out))
    if not (options.details or options.compare):
        return 0
    from ldpfrontier.survey.advice import advice_text
    from ldpfrontier.survey.texts import design_text

    print("\n" + design_text(made, best, options.error or usual))
    print(f"\nThe mechanism chosen for {options.purpose} is {best.name}, at epsilon {made.epsilon:g}.")
    print(wrapped(private.promise()))
    wanted = None if options.epsilon is options.utility is None else options.error
    # Advice is for one report.
    if made.allowance is None and (helps := advice_text(made, best, wanted)):
        print(f"\n{helps}\n")
    print(wrapped(f"Files written: {', '.join(map(str, paths))}."))
    return 0


def _table(options: argparse.Namespace, sources: Sequence[str]) -> CountTable:
    """Return the table of a design, from a file or from values alone, and print its hints."""
    from ldpfrontier.survey.groups import parsed_bins
    from ldpfrontier.survey.layout import without_formulas
    from ldpfrontier.survey.tables import count_records, parsed_values, table_of_values, with_values
    from ldpfrontier.survey.weights import stated_people

    values, bins = parsed_values(options.values or ()), parsed_bins(options.bins)
    if not sources:
        table = table_of_values(values, options.sensitive, options.useful, bins=bins)
    else:
        count = options.count or ("count" if options.table is not None and options.weight is None else None)
        weights = {"weight": options.weight, "totals": options.table is not None}
        weights |= {"effective": stated_people(options.people, options.design_effect)}
        table = count_records(
            sources[0], options.sensitive, options.useful, count=count, bins=bins,
            **weights, **_reading(options),
        )  # fmt: skip
        table = with_values(table, values) if values else table
    for hint in table.hints:
        remark(hint)
    cells = {cell for label in (table.attributes, *table.labels) for cell in label}
    if found := sorted(cell for cell in cells if without_formulas(cell) != cell and not options.spreadsheet):
        remark(
            f"a spreadsheet program would take {found[0]!r} in a CSV file for a formula; with --spreadsheet,"
            " an apostrophe comes before such texts."
        )
    return table


def _reading(options: argparse.Namespace) -> dict[str, Any]:
    """Return how records are read: what becomes of missing values, and what decimals follow."""
    return {name: getattr(options, name) for name in ("missing", "missing_codes", "decimal")}


def _given(path: str | None) -> list[str]:
    return [] if path is None else [path]


def _own_functions(
    options: argparse.Namespace,
) -> tuple[str | None, dict[str, OwnFunction], dict[str, OwnFunction]]:
    """Return the only mechanism to be considered, if one is named, and mechanisms and cones of the user's."""
    from ldpfrontier.survey.own_methods import loaded

    cones = {name: loaded(name) for name in options.cone or ()}
    name = options.mechanism or ""
    of_cones = name in cones or (bool(cones) and name.rpartition(" (")[0] == " & ".join(cones))
    is_own = ":" in name and not of_cones
    own = {options.mechanism: loaded(options.mechanism)} if is_own else {}
    return None if is_own else options.mechanism, own, cones


def _check_outputs(outputs: Sequence[Path | str], inputs: Sequence[Path | str]) -> None:
    """Refuse outputs as `check_outputs` does, and say which folders will be made for the others."""
    from ldpfrontier.survey.outputs import check_outputs

    for folder in check_outputs(outputs, inputs):
        remark(f"the folder {folder} does not exist; it will be made.")


def apply(options: argparse.Namespace) -> int:
    """Privatize records."""
    from ldpfrontier.survey.channel_file import read_channel
    from ldpfrontier.survey.memo import Memo
    from ldpfrontier.survey.privatizing import privatize_file, several_reports_text
    from ldpfrontier.survey.sampling import Source

    _check_outputs([options.out, *_given(options.memo)], [options.channel, options.data])
    source: Source | None = None
    if options.insecure:
        import numpy as np

        if options.seed < 0:
            raise ValueError(f"The seed is {options.seed}; it must be a whole number, 0 or more.")
        remark("INSECURE: whoever guesses the seed can undo the reports.")
        remark("INSECURE: they protect nobody; a seed is for tests alone.")
        source = np.random.default_rng(options.seed).bytes
    if is_questionnaire(options.channel):
        from ldpfrontier.survey.questionnaire import command

        return command.apply(options, source)
    private = read_channel(options.channel).verified()
    replaced = Path(options.out).is_file()
    memo = None if options.memo is None else Memo(options.memo, options.id, source, options.wave)
    done = privatize_file(
        private, options.data, options.out, memo=memo, keep=options.keep, column=options.column,
        spreadsheet=options.spreadsheet, source=source, **_reading(options),
    )  # fmt: skip
    print(f"{done.records:,} {'record' if done.records == 1 else 'records'} privatized.")
    if memo is not None:
        print(
            visible(f"For {done.again:,} of them, the person's earlier report was repeated ({options.memo}).")
        )
    print(wrapped(private.promise()))
    if memo is None:
        several, more = several_reports_text(private)
        if replaced:
            remark(f"{options.out} was replaced; people who had a report in it have given two. {several}")
        elif more:
            remark(several)
        else:
            print(wrapped(several))
    print(visible(f"File written: {options.out}."))
    if done.unmatched:
        remark(
            f"the memo {options.memo} has the reports of {done.unmatched:,} people, and none of them is among"
            " these records. If some of them are, their ids are written in another way now: write the ids as"
            " they were written before, or these people report twice."
        )
    if done.removed:
        remark(
            f"an earlier run for {options.out} was killed. The reports that it left behind were removed:"
            f" {', '.join(map(str, done.removed))}. If they had been passed on, these people have reported"
            " twice."
        )
    if done.designed_from:
        remark(
            "the counts of these records are exactly those that the channel was designed from. The guarantee"
            f" does not cover these people, since {options.channel} contains their counts."
        )
    if options.keep:
        remark(f"{options.out} contains {', '.join(options.keep)} of each record without any protection.")
    return 0


def estimate(options: argparse.Namespace) -> int:
    """Estimate a distribution."""
    from ldpfrontier.survey.channel_file import read_channel
    from ldpfrontier.survey.estimate_texts import estimate_text, give_estimates
    from ldpfrontier.survey.estimation import FittedReports, check_confidence
    from ldpfrontier.survey.rates import rates_of, reference
    from ldpfrontier.survey.reports import count_reports
    from ldpfrontier.survey.scores import estimate_scores

    _check_outputs([*_given(options.out), *_given(options.picture)], [options.channel, options.data])
    if is_questionnaire(options.channel):
        from ldpfrontier.survey.questionnaire import command

        return command.estimate(options)
    private = read_channel(options.channel).verified()
    if options.rates is not None:
        raise ValueError("--rates is for questionnaires; other rates are estimated anyway.")
    if not all(getattr(options, name) is None for name in OF_SAMPLES):
        from ldpfrontier.survey.analysis_commands import estimate_sample

        return estimate_sample(options, private)
    confidence = check_confidence(options.confidence)
    has_rates = bool(private.table.useful) or options.compare_with is not None
    place = reference(private, options.compare_with) if has_rates else None
    counts = count_reports(private, options.data, column=options.column, person=options.id)
    fit, together = FittedReports(private, counts), options.simultaneous
    if fit.doubt and not options.despite_misfit:
        raise ValueError(f"{fit.doubt} (--id). --despite-misfit estimates all the same.")
    if fit.doubt:
        remark(f"{fit.doubt}.")
    found = fit.distribution(confidence, simultaneous=together)
    rates = None if place is None else rates_of(fit, place, confidence, simultaneous=together)
    asked = options.mean or (), options.cumulative or ()
    scores = estimate_scores(fit, *asked, confidence, simultaneous=together)
    rows = [*found.frequencies, *(rates.rows if rates else ()), *scores]

    def picture() -> Figure:
        from ldpfrontier.survey.pictures import estimate_picture

        return estimate_picture(found, rates)

    return give_estimates(
        options, [("", row) for row in rows], estimate_text(found, rates, scores), private.promise(),
        picture, found, rates=rates, scores=scores,
    )  # fmt: skip


def change(options: argparse.Namespace) -> int:
    """Estimate what has changed between two waves."""
    from ldpfrontier.survey.change import change_of_files, change_text
    from ldpfrontier.survey.channel_file import read_channel

    found = change_of_files(
        [read_channel(path).verified() for path in options.channel], options.data, person=options.id,
        column=options.column, confidence=options.confidence, simultaneous=options.simultaneous,
    )  # fmt: skip
    if options.json:
        from ldpfrontier.survey.exports import as_json

        print(as_json(found))
    else:
        print(change_text(found))
    return 0


def audit(options: argparse.Namespace) -> int:
    """Audit a channel."""
    from ldpfrontier.survey.auditing import audit_channel, count_pairs
    from ldpfrontier.survey.channel_file import read_channel
    from ldpfrontier.survey.texts import audit_text, kept_promise

    if is_questionnaire(options.channel):
        from ldpfrontier.survey.questionnaire import command

        return command.audit(options)
    private = read_channel(options.channel)
    pairs = None
    if options.data:
        pairs = count_pairs(private, options.data, column=options.column, **_reading(options))
    found = audit_channel(private, samples=options.samples or 0, pairs=pairs, confidence=options.confidence)
    if options.json:
        from ldpfrontier.survey.exports import as_json

        print(as_json(found, promise=kept_promise(found, private)))
        return FOUND if found.problems else 0
    if options.quiet:
        for problem in found.problems:
            remark(problem)
    print(audit_text(found, private))
    return FOUND if found.problems else 0


def _analysis(options: argparse.Namespace) -> int:
    """Run a command about a survey that is planned or was taken: channel, level, people or regress."""
    from ldpfrontier.survey.analysis_commands import count_people, fit_reports, say_levels, write_channel

    if options.command == "people":
        drawing = Progress("drawing surveys of {:,} people", 0.0)
        status = count_people(options, drawing)
        drawing.end()
        return status
    if options.command == "regress":
        return fit_reports(options)
    return write_channel(options) if options.command == "channel" else say_levels(options)


def verify(options: argparse.Namespace) -> int:
    """Check certificates."""
    from ldpfrontier.verify import check_file

    found = [check_file(path) for path in options.files]
    for path, (_, message) in zip(options.files, found, strict=True):
        # Indented, so that no part of a name begins a line as a file that is proved does.
        print(wrapped(f"{path}: {message}", "  "))
    return max(code for code, _ in found)


if __name__ == "__main__":
    sys.exit(main())
