"""How the claims of the toy are decided."""

from reproduction.ledger.claims import Claim, Finding, Tables, finding


def at_most(tables: Tables, claim: Claim) -> Finding:
    """Compare the largest value with the limit."""
    most = float(tables[claim.tables[0]]["value"].max())
    return finding(f"{most:.3f}", most <= claim.arguments["limit"], "It is more at large epsilon.")
