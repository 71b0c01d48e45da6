"""What the commands of `ldp-frontier` say that they do."""

from __future__ import annotations

from collections.abc import Mapping

#: The commands: what they do in a few words, and in full.
TEXTS: Mapping[str, tuple[str, str]] = {
    "design": (
        "find the best mechanism for a table",
        r"""Compute the mechanism that is best for a table, and write it to a file.

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
      --bins age=18,40,65 --error 0.02 --records 10000""",
    ),
    "apply": (
        "privatize records",
        """\
Write a report for every record of a file, in the order of the records. The
output contains nothing else unless --keep names columns. The reports are drawn
with random bytes of the operating system and with the probabilities in the
channel file, which are whole multiples of 2^-62.""",
    ),
    "estimate": (
        "estimate the frequencies of values from reports",
        """\
Estimate the frequencies of values from reports, the rates of the sensitive
values given each useful value, and the differences and ratios of these rates,
with confidence intervals that are suitable for few reports as well as for many.
What the reports do not determine "cannot be estimated". The CSV file contains
unbiased estimates of the frequencies as well, and all intervals.""",
    ),
    "change": (
        "estimate what has changed between two waves",
        """\
Estimate how the shares of values have changed between two waves of a survey,
with confidence intervals for many reports. With --id, people may be in both
waves: how their reports depend on each other is estimated from the data.""",
    ),
    "form": (
        "make a page on which people answer",
        """\
Write a page, one HTML file, on which people answer. It works without a network,
draws the report on the device of whoever answers, shows it and what it reveals
before it leaves the device, and gives away nothing else. A device keeps its report.

examples:
  ldp-frontier form --channel channel.json --out survey.html
  ldp-frontier form --channel channel.json --out survey.html --texts texts.yaml \\
      --post https://survey.example.org/report""",
    ),
    "card": (
        "make a card by which people draw a report with dice",
        """\
Write a card to be printed, by which people without a device draw a report: they
roll two ten-sided dice, look up their answer, and say a letter. The channel is
rounded to hundredths (thousandths with three dice) so that its level is not above
that of the channel and its estimates are as precise as possible. The channel that
is really drawn is written beside the card, with a certificate of its level.

examples:
  ldp-frontier card --channel channel.json --out card.html
  ldp-frontier estimate --channel card.json --data letters.csv""",
    ),
    "collect": (
        "make a file of reports of what came in",
        """\
Write the reports that people sent, downloaded or read out as codes to a file, in
the format of apply. What is no report of the channel is refused and counted.
With --listen, take reports in a local network, for trials and interviews.

examples:
  ldp-frontier collect --channel channel.json inbox.jsonl --out reports.csv
  ldp-frontier collect --channel channel.json typed.csv --codes code \\
      --out reports.csv
  ldp-frontier collect --channel channel.json --listen 127.0.0.1:8000 \\
      --store reports.sqlite --page survey.html""",
    ),
    "audit": (
        "check the privacy level of a channel",
        """\
Compute the privacy level of the stored channel again. With --samples or --data,
also compute a lower bound on the level of the reports that were drawn. The exit
status is 1 if a promise of the channel does not hold.""",
    ),
    "level": (
        "say what several reports of one person reveal together",
        """\
Compute what several reports of one person reveal together, each drawn with one
of the channels, and to whom. A channel with which a person reports twice is named
twice. All channels must be designed for the same values and from the same table;
those of questionnaires may have any questions.""",
    ),
    "channel": (
        "write the channel of a survey that was taken already",
        """\
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
  ldp-frontier channel --values contact=no,yes --design forced --yes 1/6 --no 1/6""",
    ),
    "regress": (
        "fit a logistic regression to reports",
        """\
Fit a logistic regression in which the columns of a channel are known through
reports alone: the outcome, as in "illness ~ age + region", predictors, as in
"votes ~ illness + age", or both. Coefficients are log odds ratios, found by
maximum likelihood, with standard errors from the observed information. The data
have the reports and the other variables in a row per person (apply --keep).""",
    ),
    "people": (
        "compute how many people have to report",
        """\
Compute how many people have to report through a channel: for a standard error,
for intervals that are at most so wide with a probability, or for the power to
tell a difference or a coefficient from 0 (or from --value). What is expected is
the table of the channel, unless --expect says otherwise; of a questionnaire, equal
shares of all answers.

examples:
  ldp-frontier people --channel channel.json --precise differences --power 0.8 \\
      --expect north=0.10 south=0.15
  ldp-frontier people --channel channel.json --precise cells --width 0.05 \\
      --expect yes=0.2""",
    ),
    "verify": (
        "check certificates",
        """\
Check certificates in exact arithmetic. The checker is a single file that uses
no other part of the package (ldpfrontier/verify.py). The exit status is 0 if
every claim of every file is proved, 1 if some claim is not, and 2 if a file is
malformed or cannot be read.""",
    ),
}
