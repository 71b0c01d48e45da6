"""Codes of reports, to be read out or written down, that tell a mistake. `codes.mjs` makes the same ones.

A code is a number in digits, which every language reads out and every telephone has keys for: the last three
digits of the channel's number; the rank of the report, from 1, among all that the channel gives; and two
check digits by ISO 7064, MOD 97-10. These notice every wrong digit, every two digits that changed places with
at most one between, and every pair such as 44 that became 55. They are those of the channel's whole number
and the rank, so that a code of another channel passes with a chance of 1 in 97,000.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from ldpsurvey.channel.channel_file import PrivateChannel
from ldpsurvey.channel.reports import report_place
from ldpsurvey.questionnaire.lot_reports import LETTERS, read_reports
from ldpsurvey.questionnaire.questionnaire_channel import AnyChannel, QuestionnaireChannel

#: Digits of the channel's number that a code begins with.
TOLD = 3


def report_code(channel: AnyChannel, report: str) -> str:
    """Return the code of a report, such as ``817-345``.

    Parameters
    ----------
    channel : PrivateChannel or QuestionnaireChannel
    report : str
        As the channel gives it, such as ``y3`` or ``L2/q3=10/q7=01``.

    Raises
    ------
    ValueError
        If the channel gives no such report.
    """
    number = f"{_rank(channel, report) + 1:0{_width(channel)}d}"
    rest = number + _check(channel, number)
    return "-".join([channel.id[-TOLD:], *(rest[place : place + 4] for place in range(0, len(rest), 4))])


def report_of_code(channel: AnyChannel, code: str) -> str:
    """Return the report that a code stands for.

    Parameters
    ----------
    channel : PrivateChannel or QuestionnaireChannel
    code : str
        As `report_code` returns it. Spaces, hyphens and points between digits do not count.

    Raises
    ------
    ValueError
        If it is no code of this channel, or a digit of it is wrong.
    """
    digits, width = re.sub(r"[\s.\u2010-\u2015-]", "", code), _width(channel)
    if not re.fullmatch(f"[0-9]{{{TOLD + width + 2}}}", digits):
        raise ValueError(f"{code!r} is no code; those of this channel have {TOLD + width + 2} digits.")
    told, number, check = digits[:TOLD], digits[TOLD:-2], digits[-2:]
    if told != channel.id[-TOLD:]:
        raise ValueError(
            f"{code!r} is a code of another channel, or mistyped; those of this one begin with"
            f" {channel.id[-TOLD:]}."
        )
    if check != _check(channel, number) or not 0 < int(number) <= _reports(channel):
        raise ValueError(f"{code!r} is mistyped: its check digits do not fit.")
    return _report(channel, int(number) - 1)


def _check(channel: AnyChannel, number: str) -> str:
    """Return the check digits of a number, which follows that of the channel."""
    return f"{98 - int(channel.id[1:] + number) * 100 % 97:02d}"


def _width(channel: AnyChannel) -> int:
    return len(str(_reports(channel)))


def _reports(channel: AnyChannel) -> int:
    """Return how many different reports a channel gives."""
    if isinstance(channel, PrivateChannel):
        return len(channel.outputs)
    return sum(map(math.prod, map(list, _radices(channel))))


def _radices(channel: QuestionnaireChannel) -> Iterator[Iterator[int]]:
    """Yield, of each lot, what its reports are counted by: of each place, the questions and permutations."""
    members = channel.mechanism.questionnaire.members
    for lot in channel.mechanism.lots:
        pairs = zip(lot.kinds, lot.members.shape, range(len(lot.kinds)), strict=True)
        yield (
            radix
            for kind, size, place in pairs
            for radix in (len(members[kind]) - lot.kinds[:place].count(kind), math.factorial(size))
        )


def _rank(channel: AnyChannel, report: str) -> int:
    """Return the place of a report among all of a channel; of a questionnaire, lot by lot."""
    if isinstance(channel, PrivateChannel):
        return report_place(report, channel.outputs)
    (read,) = read_reports(channel, {report: 1})
    members = channel.mechanism.questionnaire.members
    left = {kind: list(members[kind]) for kind in channel.mechanism.lots[read.lot].kinds}
    digits = list[int]()
    for kind, question, images in zip(
        channel.mechanism.lots[read.lot].kinds, read.questions[0].tolist(), read.images, strict=True
    ):
        digits += [left[kind].index(question), _rank_of_permutation(images[0].tolist())]
        left[kind].remove(question)
    radices, number = list(map(list, _radices(channel))), 0
    for digit, radix in zip(digits, radices[read.lot], strict=True):
        number = number * radix + digit
    return sum(map(math.prod, radices[: read.lot])) + number


def _report(channel: AnyChannel, rank: int) -> str:
    """Return the report with a rank."""
    if isinstance(channel, PrivateChannel):
        return channel.outputs[rank]
    for place, (lot, some) in enumerate(
        zip(channel.mechanism.lots, map(list, _radices(channel)), strict=True)
    ):
        if rank >= (size := math.prod(some)):
            rank -= size
            continue
        digits = list[int]()
        for radix in reversed(some):
            rank, digit = divmod(rank, radix)
            digits.insert(0, digit)
        left = {kind: list(channel.mechanism.questionnaire.members[kind]) for kind in lot.kinds}
        chosen = [left[kind].pop(digit) for kind, digit in zip(lot.kinds, digits[::2], strict=True)]
        images = [
            "".join(LETTERS[image] for image in _permutation(digit, size))
            for digit, size in zip(digits[1::2], lot.members.shape, strict=True)
        ]
        parts = [f"q{j + 1}={image}" for j, image in zip(chosen, images, strict=True)]
        return "/".join([f"L{place + 1}", *parts])
    raise ValueError(f"The channel has no report of the rank {rank}.")


def _rank_of_permutation(images: Sequence[int]) -> int:
    """Return the rank of a permutation in the order of a dictionary."""
    left, number = sorted(images), 0
    for image in images:
        number = number * len(left) + left.index(image)
        left.remove(image)
    return number


def _permutation(rank: int, size: int) -> list[int]:
    """Return the permutation with a rank."""
    places = list[int]()
    for radix in range(1, size + 1):
        rank, place = divmod(rank, radix)
        places.insert(0, place)
    left = list(range(size))
    return [left.pop(place) for place in places]
