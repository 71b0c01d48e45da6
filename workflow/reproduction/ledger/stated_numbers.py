"""The check of a claim whose statement has the numbers that decide it."""

from __future__ import annotations

from reproduction.ledger.claims import (
    Claim,
    Finding,
    NotCheckable,
    Tables,
    finding,
    require_rows,
    require_values,
)


def numbers_agree(tables: Tables, claim: Claim) -> Finding:
    """Decide by the numbers of the statement: each must agree with the number of its table."""
    found, wrong = [], []
    for number in claim.stated().values():
        table = require_rows(tables[number.table], claim.where)
        rows = table.query(number.rows) if number.rows else table
        for expression in filter(None, (number.column, number.standard_error)):
            require_values(rows, expression)
        try:
            words = f"{number.number(table):.5g} for {number.said}"
            agrees = number.agrees(table)
        except ValueError as missing:
            raise NotCheckable(str(missing)) from None
        found.append(words)
        if not agrees:
            wrong.append(words)
    computed = ", ".join(words.partition(" ")[0] for words in found)
    otherwise = f"The tables have {', '.join(wrong)}."
    return finding(f"{'; '.join(found)}.", not wrong, otherwise, computed=computed, n=len(found))
