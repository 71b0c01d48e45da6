"""Reports of questionnaires by enumeration, from the text of a channel file alone."""

import itertools
import json
from fractions import Fraction

LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"


def report_chances(text):
    """Return the exact probability of every report of a channel, given each record, as fractions.

    Read from the JSON: no code of the package is used.
    """
    content = json.loads(text)
    sizes = [len(question["answers"]) for question in content["questions"]]
    keep = Fraction(int(content["accept"]), 2 ** content["bits"])
    found = {}
    for number, lot in enumerate(content["lots"], start=1):
        chance = Fraction(int(lot["weight"]), 2 ** content["bits"])
        choices = [q for q in itertools.product(*lot["questions"]) if len(set(q)) == len(q)]
        for asked in choices:
            orders = list(itertools.product(*(itertools.permutations(range(sizes[j])) for j in asked)))
            shape = [sizes[j] for j in asked]
            for images in orders:
                name = "/".join(
                    f"q{j + 1}={''.join(LETTERS[place] for place in image)}"
                    for j, image in zip(asked, images, strict=True)
                )
                found[f"L{number}/{name}"] = {}
                for record in itertools.product(*map(range, sizes)):
                    place = 0
                    for j, image, size in zip(asked, images, shape, strict=True):
                        place = place * size + image[record[j]]
                    found[f"L{number}/{name}"][record] = Fraction(1) if lot["set"][place] == "1" else keep
            names = list(found)[-len(orders) :]
            for record in found[names[0]]:
                total = sum(found[name][record] for name in names)
                for name in names:
                    found[name][record] *= chance / (len(choices) * total)
    return found


def marginal(table, sizes, questions, answers):
    """Return the probability of answers to some questions under a distribution of records, as a dict."""
    return sum(p for x, p in table.items() if all(x[j] == a for j, a in zip(questions, answers, strict=True)))


def records(sizes):
    return list(itertools.product(*map(range, sizes)))
