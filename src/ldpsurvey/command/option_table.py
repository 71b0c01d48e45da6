"""The options of the commands of `ldp-frontier`, as argparse takes them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

#: The names of an option or an argument, and what `add_argument` takes besides.
Option = tuple[tuple[str, ...], dict[str, Any]]


def option(*names: str, **more: Any) -> Option:
    """Return an option; `more` is what `add_argument` takes."""
    return names, more


def number(text: str) -> float:
    """Return a number; a refusal says how numbers are written."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number; write it like 1.5 or 3000") from None


def whole(text: str) -> int:
    """Return a whole number; a refusal says how they are written."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number; write it like 3000") from None


def reading_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return how records are read: what becomes of missing values, and what decimals follow."""
    return {name: getattr(options, name) for name in ("missing", "missing_codes", "decimal")}


def given(path: str | None) -> list[str]:
    """Return the path of an option that was given, in a list; an empty one if it was not."""
    return [] if path is None else [path]


#: Options of `estimate` that are about samples of people, and parameters of classical designs.
OF_SAMPLES = ("weight", "strata", "cluster", "by", "replicates", "replicate_method")
PARAMETERS = ("--p", "--q", "--yes", "--no", "--cards")


# fmt: off
# Options of several commands.
READING = [
    option("--missing", metavar="VALUE", nargs="+", help=
        "what becomes of missing values (empty fields and texts such as NA, None, ? and -): a name that"
        " takes their place, such as unknown. In a design also drop, which leaves these records out, and"
        " keep, which takes the texts for answers. COLUMN=VALUE is for one column, such as country=keep,"
        " and keep,drop or keep,unknown for one with such answers whose empty fields are missing"
        " (default: they are refused in a design; then, what became of them in the design)"),
    option("--missing-codes", metavar="CODE", nargs="+", default=[], help=
        "more codes for missing values, such as 99 -9 Refused, or age=99 for one column"),
    option("--decimal", choices=[".", ","], default=".", help=
        "what the decimals of numbers follow, in columns with groups and of weights (default: a point)"),
]
TABLES = option("--tables", metavar="A,B,...", nargs="+", help=
    "of a questionnaire, also the tables of these questions, with commas between them, and print these")
EXPECT = option("--expect", metavar="VALUE=NUMBER", nargs="+", default=[], help=
    "what is expected of those who will report, at which errors are computed, if it is not what the"
    " table has: shares of values or, with useful columns, rates of the second of two sensitive values"
    " given useful ones")
SPREADSHEET = option("--spreadsheet", action="store_true", help=
    "in CSV files, put an apostrophe before a text that a spreadsheet program would take for a formula,"
    " such as =1+1, and a byte order mark at the start, by which Excel knows UTF-8")
TEXTS_OF_PEOPLE = [
    option("--texts", metavar="YAML", help=
        "a file with the title, a text below it, questions, labels of answers, and the language or its"
        " words"),
    option("--title", help="the title of the page, instead of that in --texts"),
    option("--language", metavar="CODE", help=
        "en, de, or another language whose words are in --texts (default: en, or that of --texts)"),
]
#: How people were drawn.
SAMPLE = [
    option("--weight", metavar="COLUMN", help=
        "survey weights of the people, a column that apply --keep has copied"),
    option("--strata", metavar="COLUMN", help=
        "the strata that people or clusters were drawn from, a column like that"),
    option("--cluster", metavar="COLUMN", help=
        "the clusters, such as villages or schools, that people were drawn in, a column like that"),
]
JSON = option("--json", action="store_true", help="print the results as JSON, for programs")
QUIET = option("--quiet", action="store_true", help="print warnings and errors only")
CHANNEL = option("--channel", metavar="JSON", required=True, help="a channel file, as written by design")
COLUMN = option("--column", metavar="NAME", default="report", help=
    "the column that contains the reports (default: report)")
CONFIDENCE = option("--confidence", metavar="C", type=number, default=0.95, help=
    "the confidence of each interval, between 0 and 1 (default: 0.95)")

#: The options of each command, in the order of its help. Of a list in it at most one is given, and of that
#: of `channel` and of `people` one is needed.
OPTIONS: Mapping[str, list[Option | list[Option]]] = {
    "design": [
        [
            option("--data", metavar="FILE", help=
                "a file with a row per record: CSV with a header and any usual separator, Parquet, SPSS"
                " or Stata; - is the standard input"),
            option("--table", metavar="FILE", help=
                "a file with a row per combination of values, and a column with the number of its"
                " records"),
        ],
        option("--values", metavar="COLUMN=VALUE,...", nargs="+", help=
            "the values of columns in their order, or a file with such a text in every line. With a"
            " table, of some columns, whose combinations are all possible then. Without a table, of every"
            " column: for protection from anyone, with errors as if all values were equally frequent"
            " (needs --records, or --epsilon and --error)"),
        option("--count", metavar="COLUMN", help="the column of counts in --table (default: count)"),
        option("--weight", metavar="COLUMN", help=
            "the column of survey weights: in --data of people, which tell how sure the shares are; in"
            " --table of totals, which do not (needs --records)"),
        option("--cluster", metavar="COLUMN", help=
            "the column of the clusters, such as villages or schools, that people were drawn in; --table"
            " has a row for each cluster and combination of values then (needs --records)"),
        option("--people", metavar="NUMBER", type=number, help=
            "the number of people behind weighted shares, with --design-effect; needed for totals of"
            " weights without --cluster"),
        option("--design-effect", metavar="NUMBER", type=number, help=
            "the largest generalized design effect of all these shares together (Rao and Scott), which may"
            " be far above the effect of each share; needed for totals of weights without --cluster"),
        option("--sensitive", metavar="COLUMN", nargs="+", required=True, help="the columns to be protected"),
        option("--useful", metavar="COLUMN", nargs="+", default=[], help=
            "the columns to be reported together with the sensitive ones; several columns are treated as"
            " one (default: none, so that the whole record is sensitive)"),
        option("--unasked", action="store_true", help=
            "design reports of the useful columns alone: the sensitive ones are not asked, and protected by"
            " what the table says of both"),
        option("--bins", metavar="COLUMN=N", nargs="+", default=[], help=
            "put the numbers of a column into N groups with about as many records each or, with"
            " COLUMN=18,40,65, into groups that begin at these numbers; COLUMN=18, with the comma is one"
            " such number"),
        *READING,
        option("--follow-up", metavar="Q=OTHER:ANSWER,...", nargs="+", help=
            "of a questionnaire: question Q is asked only after these answers to another one, such as"
            " often=smokes:yes; both are one question smokes/often, and Q is empty where it is not asked"),
        option("--impossible", metavar="Q=ANSWER,...", nargs="+", action="append", help=
            "of a questionnaire: answers to two or more questions that nobody gives together, such as"
            " age=15-17 children=2,3; may be given again. Records that have them are refused"),
        option("--against", choices=["insider-only", "outsider", "acquaintance", "anyone"], help=
            "from whom the sensitive value has to be protected (default: acquaintance, and anyone"
            " without a table); insider-only is local label differential privacy"),
        [
            option("--epsilon", metavar="NATS", type=number, help="the level, above 0 and at most 20"),
            option("--utility", metavar="NMI", type=number, help=
                "find the least level, to 0.001, at which reports carry this share of the information of"
                " a record (NMI), between 0 and 1"),
        ],
        [
            option("--reports", metavar="M", type=whole, help=
                "design for M reports of every person, 2 or more, which together keep the level --epsilon"
                " (default: every person reports once)"),
            option("--budget", metavar="NATS", type=number, help=
                "design a report of the level --epsilon for people who give several, by this channel and"
                " others of the same budget: their levels may add up to this"),
        ],
        option("--error", metavar="E", type=number, help=
            "an error of estimated frequencies (root mean square). With --epsilon or --utility, print"
            " the number of reports that gives this error (default: 0.01). Otherwise find the least"
            " level, to 0.001, at which the number of reports in --records gives this error"),
        option("--for", choices=["frequencies", "information"], dest="purpose", help=
            "compute the mechanism with the smallest error of estimated frequencies, or the one whose"
            " reports carry the most information (default: frequencies; with --utility, information)"),
        [
            option("--precise", metavar="WHAT", help=
                "what the estimates have to be precise for, and --error refers to: the frequencies of whole"
                " records (cells), of sensitive values (S), of useful values (U), the rates of sensitive"
                " values given useful ones, their differences, or coefficients of a logistic regression, as"
                " in 'illness ~ age' or, for one of them, 'age in illness ~ age + region'; of a"
                " questionnaire, whose columns are all sensitive, the shares of each question, all tables of"
                " two (pairs), or of three (triples) (default: cells, and pairs of three or more columns"
                " without --useful)"),
            option("--tables", metavar="A,B,...", nargs="+", help=
                "of a questionnaire, the tables that have to be precise, each as its questions with commas"
                " between them, up to three"),
        ],
        EXPECT,
        option("--compare", action="store_true", help=
            "compute all mechanisms that are suitable, and print tables that compare them; of a"
            " questionnaire, how many people usual mechanisms need"),
        option("--details", action="store_true", help=
            "print the values, the levels and errors of what was computed, and the promise"),
        option("--mechanism", metavar="NAME", help=
            "consider only the mechanism that the printed tables call NAME (default: all);"
            " my_module:function is a mechanism of your own, which is used if its level, which is"
            " computed, is at most --epsilon"),
        option("--cone", metavar="MODULE:FUNCTION", nargs="+", help=
            "choose among mechanisms whose columns are also in cones of your own"),
        option("--beta", metavar="P", type=number, default=0.05, help=
            "F contains the true distribution, and the intervals contain its odds ratios, with"
            " confidence 1 - P each (default: 0.05)"),
        option("--confidence-method", choices=["asymptotic", "finite"], default="asymptotic", help=
            "whether F has this confidence with many records (asymptotic), or with any number of them,"
            " which makes F larger (default: asymptotic)"),
        option("--radius-factor", metavar="X", type=number, default=1.0, help=
            "multiply the radius of F by X, for a population that may have changed since the table was"
            " counted (default: 1)"),
        option("--alpha", metavar="ORDER", type=number, default=2.0, help=
            "F is a ball in the Renyi divergence of this order (default: 2)"),
        option("--records", metavar="N", type=whole, help=
            "the number of records that will be privatized, which determines the errors (default: as"
            " many as were counted)"),
        option("--max-seconds", metavar="SECONDS", type=number, help=
            "go on with the best mechanisms found after this time; a warning says so (default: no limit)"),
        option("--prove", metavar="NODES", type=whole, help=
            "use so many nodes of branch and bound, or extreme rays, for a bound on the smallest error of"
            " all mechanisms, which --details prints (default: 5000)"),
        option("--detect", metavar="REPORT", help=
            "make two channels of the level --epsilon, of which each person has one by lot: the pair that"
            " needs the fewest people for --error, and for noticing that 5%% always give this report, which"
            " is one of the values. The second is written beside --out, with -2 in its name"),
        option("--out", metavar="JSON", default="channel.json", help=
            "the file for the channel; its matrix, thresholds, known answers, weights, sampler and"
            " certificate are written to the same folder (default: channel.json)"),
        option("--force", action="store_true", help=
            "replace another channel in that file, whose reports can then not be decoded any more"),
        option("--plot", "--picture", dest="picture", metavar="FILE", help=
            "draw the matrix of the channel, or for a questionnaire what --compare prints, to this file,"
            " which ends in .svg, .pdf or .png"),
        SPREADSHEET,
        [JSON, QUIET],
    ],
    "apply": [
        CHANNEL,
        option("--data", metavar="FILE", required=True, help=
            "a file of records with the columns of the channel"),
        option("--out", metavar="CSV", required=True, help="the file for their reports"),
        option("--keep", metavar="COLUMN", nargs="+", default=[], help=
            "columns to copy unchanged; nothing limits what they reveal"),
        COLUMN,
        *READING,
        option("--force", action="store_true", help=
            "replace the file of --out; without a memo, people who have a report in it give another one"),
        [
            option("--memo", metavar="FILE", help=
                "store the report of every person in this file, and repeat it whenever the person"
                " reports again"),
            option("--no-memo", action="store_true", help=
                "for a channel that is for several reports of a person: keep no account of who has"
                " reported, which whoever collects the reports does then"),
        ],
        option("--id", metavar="COLUMN", help="the column that identifies people, for --memo"),
        option("--wave", metavar="NAME", default="", help=
            "for a channel that is for several reports of a person: the name of the occasion, such as"
            " 2027. Reports of the same wave are repeated, those of another one are drawn if the memo"
            " says that the person has some left"),
        SPREADSHEET,
        option("--seed", type=whole, help="make the reports predictable; allowed with --insecure only"),
        option("--insecure", action="store_true", help=
            "allow --seed, for tests only; the reports then protect nobody"),
        QUIET,
    ],
    "estimate": [
        CHANNEL,
        option("--data", metavar="FILE", required=True, help="a file of reports, as written by apply"),
        COLUMN,
        option("--id", metavar="COLUMN", help=
            "a column that identifies people, of each of whom the first report is counted"),
        option("--despite-misfit", action="store_true", help=
            "estimate reports that do not fit the channel, with a warning (default: they are refused)"),
        CONFIDENCE,
        option("--simultaneous", action="store_true", help=
            "let --confidence apply to all frequencies together, and to all rates and comparisons"
            " together"),
        option("--out", metavar="CSV", help="write the estimates to this file"),
        SPREADSHEET,
        [JSON, QUIET],
        option("--compare-with", metavar="VALUE", nargs="+", help=
            "the useful value that the rates given all others are compared with, a VALUE for each useful"
            " column (default: the most frequent one in the table of the design)"),
        option("--mean", metavar="COLUMN", nargs="+", help=
            "also estimate the mean of a column of numbers; COLUMN=1,2,3 gives a number to each of its"
            " values, in the order of the channel"),
        option("--cumulative", metavar="COLUMN", nargs="+", help=
            "also estimate the shares of people with each value of a column or one before it, in the"
            " order of the channel; COLUMN=VALUE,VALUE,... gives another order"),
        option("--deviating", metavar="SHARE", type=number, nargs="+", help=
            "print bounds instead of estimates, which hold if at most this share of the people, such as"
            " 0.05, report whatever they like; of each share, if there are several"),
        option("--refusals", action="store_true", help=
            "with --deviating, people with an empty report have refused: nothing is known of their answers,"
            " and they are among everybody"),
        option("--second", metavar=("JSON", "FILE"), nargs=2, help=
            "the other channel file, and the file of the reports by it, if it was drawn by lot by which of"
            " two channels a person reports"),
        option("--always", metavar="REPORT", help=
            "with --second, also estimate how many people give this report whatever they are told; with"
            " --deviating, whoever does not follow the rule gives this report"),
        *SAMPLE,
        option("--by", metavar="COLUMN", help=
            "estimate each group of people with the same value of this column"),
        option("--replicates", metavar="COLUMN", nargs="+", help=
            "replicate weights, columns like that; in quotation marks, 'repw*' is all columns so named"),
        option("--replicate-method", metavar="METHOD", help=
            "how they were made: brr, fay:RHO, jackknife (without strata), bootstrap, or the factor that"
            " makes sums of squares over the replicates a variance, such as 0.05"),
        option("--rates", metavar=("A", "B"), nargs=2, help=
            "of a questionnaire, also estimate the rates of the answers to question A given those to B"),
        TABLES,
        option("--plot", "--picture", dest="picture", metavar="FILE", help=
            "draw the estimates with their intervals to this file, which ends in .svg, .pdf or .png"),
    ],
    "change": [
        option("--channel", metavar="JSON", nargs="+", required=True, help=
            "the channel file of both waves, or one of each"),
        option("--data", metavar="FILE", nargs=2, required=True, help=
            "the reports of the first and the second wave"),
        COLUMN,
        option("--id", metavar="COLUMN", help=
            "a column that identifies people in both files; some may be in both (default: nobody is)"),
        *SAMPLE,
        CONFIDENCE,
        option("--simultaneous", action="store_true", help="let --confidence apply to all changes together"),
        TABLES,
        option("--out", metavar="CSV", help="write the changes to this file, with their standard errors"),
        SPREADSHEET,
        [JSON, QUIET],
    ],
    "form": [
        CHANNEL,
        option("--out", metavar="HTML", required=True, help="the file for the page"),
        *TEXTS_OF_PEOPLE,
        option("--post", metavar="URL", help=
            "the address that a report is sent to, as JSON, when the person presses a button (default: the"
            " page sends nothing, and shows a code and a file)"),
        option("--wave", metavar="NAME", default="", help=
            "for a channel that is for several reports of a person: the name of the occasion, such as 2027;"
            " a device draws one report for each"),
        option("--kiosk", action="store_true", help=
            "for a device that many people use: store nothing, and show a button that clears the page"),
        QUIET,
    ],
    "card": [
        CHANNEL,
        option("--out", metavar="HTML", default="card.html", help=
            "the file for the card; the channel that is drawn is written beside it, as .json (default:"
            " card.html)"),
        option("--dice", metavar="N", type=whole, default=2, help=
            "the number of ten-sided dice, 2 or 3: with 3 fewer people are needed (default: 2)"),
        option("--slips", action="store_true", help=
            "also print slips, one with each number, to be drawn and put back, for people without dice"),
        *TEXTS_OF_PEOPLE,
        option("--force", action="store_true", help="replace another channel beside the card"),
        QUIET,
    ],
    "collect": [
        CHANNEL,
        option("sources", metavar="SOURCE", nargs="*", help=
            "what came in: files of JSON objects, folders of downloads, tables, or a file of --store; - is"
            " the standard input"),
        option("--out", metavar="CSV", help="the file for the reports"),
        COLUMN,
        option("--codes", metavar="COLUMN", help="the column of tables that contains codes of reports"),
        option("--id", metavar="COLUMN", help=
            "a column of tables, or a field of JSON objects, that identifies people: the first report of"
            " each counts"),
        option("--keep", metavar="COLUMN", nargs="+", default=[], help=
            "columns or fields to copy unchanged; nothing limits what they reveal"),
        option("--listen", metavar="HOST:PORT", help=
            "take reports by HTTP at this address, such as 127.0.0.1:8000, until Ctrl-C (needs --store)"),
        option("--store", metavar="SQLITE", help="the file that --listen adds reports to"),
        option("--page", metavar="HTML", help="the page that --listen shows at its address"),
        option("--force", action="store_true", help="replace the file of --out"),
        SPREADSHEET,
        QUIET,
    ],
    "audit": [
        CHANNEL,
        [
            option("--samples", metavar="N", type=whole, help="privatize this number of random records"),
            option("--data", metavar="FILE", help=
                "a file of records with their reports, as written by apply if --keep names all columns"
                " of the channel"),
        ],
        COLUMN,
        *READING,
        option("--confidence", metavar="C", type=number, default=0.95, help=
            "the confidence of the lower bound, between 0 and 1 (default: 0.95)"),
        [JSON, QUIET],
    ],
    "level": [
        option("files", metavar="JSON", nargs="+", help="a channel file, as written by design"),
        JSON,
    ],
    "channel": [
        option("--values", metavar="COLUMN=VALUE,...", nargs="+", required=True, help=
            "the values of the column that was asked for, in their order; of several columns, all of"
            " them"),
        [
            option("--matrix", metavar="CSV", help=
                "the chances of the reports: a row for each value, its columns first, then one for each"
                " report"),
            option("--design", help="a classical design, with its parameters", choices=
                ["warner", "forced", "unrelated", "crosswise", "triangular", "kuk", "pram"]),
        ],
        *(option(name, metavar="NUMBER", help="a parameter of the design") for name in PARAMETERS),
        option("--reports", metavar="NAME", nargs="+", help=
            "how the data name the reports (default: as the matrix or the design does)"),
        option("--out", metavar="JSON", default="channel.json", help="the channel file to be written"),
        option("--force", action="store_true", help="replace another channel in that file"),
        QUIET,
    ],
    "regress": [
        CHANNEL,
        option("--data", metavar="FILE", required=True, help="a file of reports and covariates"),
        option("--id", metavar="COLUMN", help=
            "a column that identifies people, of each of whom the first report counts"),
        option("--formula", required=True, help=
            "names all columns of the channel, as the outcome or predictors; I(x**2), C(x), a:b as usual"),
        *SAMPLE,
        COLUMN,
        CONFIDENCE,
        JSON,
    ],
    "people": [
        CHANNEL,
        option("--precise", metavar="WHAT", help=
            "what is estimated, as of design: cells, S, U, rates, differences, shares, pairs, triples,"
            " or coefficients by a formula (default: cells); of a questionnaire, shares, pairs or triples, or"
            " the questions of one table with commas between them (default: all tables of the design)"),
        option("--expect", metavar="VALUE=NUMBER", nargs="+", default=[], help=
            "what is expected of those who will report, as of design; of a questionnaire"
            " QUESTION=ANSWER=SHARE, by default equal shares"),
        [
            option("--error", metavar="E", type=number, help="a standard error"),
            option("--width", metavar="W", type=number, help="a width of intervals"),
            option("--power", metavar="P", type=number, help=
                "the probability that an interval does not contain --value"),
        ],
        option("--probability", metavar="P", type=number, default=0.9, help=
            "with --width: the probability that an interval is at most so wide (default: 0.9)"),
        option("--value", metavar="X", type=number, default=0.0, help=
            "with --power: the value that the interval must not contain (default: 0)"),
        CONFIDENCE,
        JSON,
    ],
    "verify": [
        option("files", metavar="FILE", nargs="+", help="a certificate file"),
    ],
}
# fmt: on


def alternatives(entry: Option | list[Option]) -> list[Option]:
    """Return the options of an entry of `OPTIONS`."""
    return entry if isinstance(entry, list) else [entry]


def options_of(command: str) -> list[Option]:
    """Return all options of a command, one by one."""
    return [one for entry in OPTIONS[command] for one in alternatives(entry)]


def option_names(command: str) -> list[str]:
    """Return the names of all options of a command."""
    return [name for names, _ in options_of(command) for name in names if name.startswith("--")]
