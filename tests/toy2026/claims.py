"""How the claims of the toy are decided."""

from reproduction.ledger.claims import Claim, Finding, Tables, finding, require_rows


def at_most(tables: Tables, claim: Claim) -> Finding:
    """Compare the largest value with the limit."""
    rows = require_rows(tables[claim.tables[0]], claim.id, "value")
    most = float(rows["value"].max())
    return finding(f"{most:.3f}", most <= claim.arguments["limit"], "It is more at large epsilon.")
