"""The names of utilities and the styles of mechanisms in the figures of kairouz2016."""

from __future__ import annotations

from reproduction.look import Look
from reproduction.planning.own_mechanisms import registered

#: By utility: what a mechanism achieves, what it could achieve without privacy, and what sets the scale at
#: high privacy.
ACHIEVED = {"kl": r"$D_{\mathrm{kl}}(M_0\|M_1)$", "mutual_information": "$I(X;Y)$"}
POSSIBLE = {"kl": r"$D_{\mathrm{kl}}(P_0\|P_1)$", "mutual_information": "$H(X)$"}
SCALE = {"kl": r"$\|P_0-P_1\|_{\mathrm{TV}}$", "mutual_information": r"$P(T)\,P(T^{\mathrm{c}})$"}
UTILITIES = {
    "kl": "KL divergence",
    "chi2": r"$\chi^2$ divergence",
    "hellinger": "Hellinger",
    "tv": "total variation",
    "mutual_information": "mutual information",
    "all_f": r"all $f$-divergences",
}

#: "mixed" is the better of binary and randomized response, chosen per instance and epsilon.
STAIRCASES = {
    "optimal": Look("optimal", "#000000", "", "-"),
    "binary": Look("binary", "#D55E00", "^", (0, (5, 1.5)), filled=False),
    "rr": Look("randomized response", "#0072B2", "o", (0, (4, 1.5, 1, 1.5))),
    "geometric": Look("geometric", "#009E73", "s", (0, (1, 1.2)), filled=False),
    "mixed": Look("better of the two", "#AA4499", "D", "-"),
}

#: Of mechanisms of the user's own, drawn with those of the paper in Figures 3 and 6.
OWN_LOOKS = {
    own.name: Look(own.label, own.colour, own.marker, "-") for own in registered("kairouz2016").values()
}
