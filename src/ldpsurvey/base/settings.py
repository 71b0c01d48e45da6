"""Limits, accuracy and tuning of designs, records and estimates. Loads nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SurveySettings:
    """Numbers that a user's own data are treated with."""

    # Stated limits.
    #: Largest privacy level that is offered, nats: with ratios of e^20, 5e8, reports protect nobody.
    max_epsilon: float = 20.0
    #: Least one that is offered, nats: as that of the library.
    least_epsilon: float = 1e-3
    #: Privacy levels per nat among which the least one is sought: finer than levels are chosen.
    levels_per_nat: int = 1000
    #: Cells of a table above which PolyOpt and the optimum over F are solved only if they are asked for: they
    #: may take minutes there.
    max_quick_cells: int = 120
    #: Cells up to which the best columns are searched directly: the least error takes seconds there.
    max_joint_cells: int = 16
    #: Pairs of a sensitive and a useful value: what is solved and stored grows with the square of them.
    max_values: int = 1_000
    #: Sum of a column of counts above which the command says that they must be people: most surveys are
    #: smaller, and the weights of a few thousand people sum to more.
    many_people: int = 100_000
    #: Values of a column that a sentence names before it says how many more there are.
    named_values: int = 3
    #: Width from which on an interval of a frequency says next to nothing.
    uninformative_width: float = 0.9
    #: Reports of a person that a channel may be designed for: their level is computed for all of them.
    max_reports: int = 100
    #: Entries of a channel whose level is proved with exact arithmetic: seconds.
    max_proved_entries: int = 20_000
    #: People of equal weights that those of a cell must count for, so that a promise may rest on weighted
    #: shares. With 30, a sample that happens to have nobody of a rare large weight misled: of cells with
    #: some 40 people, of whom 5% have 30 times the weight, in one of eight.
    least_weighted: int = 50
    #: The same of clusters. Without one more cluster in the count, 100 clusters of 20 misled in one of nine
    #: samples, if 1% or 2% of all clusters are wholly in a rare cell.
    least_clusters: int = 30
    #: Values of a channel up to which bounds are computed if people do not follow the rule: half a minute.
    max_bounded_values: int = 100
    #: Values up to which two channels are looked for that show who always gives one report: 10 s.
    max_detecting_values: int = 20
    #: Combinations of answers to the questions of a regression: as many numbers are stored of each person.
    max_regression_cells: int = 200
    #: Records of a table times its odds ratios, or a thousand, up to which intervals of these are exact.
    max_exact_work: int = 1_000_000_000

    # Accuracy and safety.
    #: What is rounding: of a level, nats, above the one asked for before probabilities become whole numbers;
    #: of columns outside of a cone; of shares that sum to 1; of singular values, relative to the largest one.
    rounding: float = 1e-9
    #: Least share of a record, as a part of the average, where another distribution is expected.
    least_expected: float = 1e-6
    #: Fewest people of a survey that is planned: with fewer, intervals say nothing.
    least_people: int = 16
    #: Most people of a survey that is planned, more than there are.
    most_people: int = 10**12
    #: Factor between the numbers of people of whom surveys are drawn; margins are interpolated between them.
    people_factor: int = 4
    #: Surveys that are drawn of each number of people: 13 s of a plan for 24 cells.
    planned_surveys: int = 20
    #: What `RenyiBall.worst_case_epsilon` may lack, nats, or that share of it below 1 nat: it is added to the
    #: level that is stated.
    level_error: float = 1e-10
    #: What its rounding may lack, nats: it is added, too.
    level_rounding: float = 1e-14
    #: What of a frequency may lie in directions that a channel does not show, relative: rounding leaves
    #: far less.
    shown_tolerance: float = 1e-6
    #: How far the most likely distribution may be from the top, in units of the log-likelihood, of which an
    #: interval of 95% has 1.92.
    likelihood_gap: float = 1e-4
    #: Probability below which an audit says that samples do not come from the stored channel: one false alarm
    #: in a million audits.
    unlikely: float = 1e-6
    #: Probability below which an estimate refuses reports since they do not fit the channel.
    misfit: float = 1e-4
    #: How far the end of an interval of a rate, or of q / (1 + q) for a ratio q, may be outside:
    #: far less than is printed.
    rate_tolerance: float = 1e-7
    #: How far the bound of a difference of rates may be outside.
    bound_tolerance: float = 1e-4
    #: Added to the Gram matrix of the weights of an interval, whose diagonal is about 1; whatever it is, the
    #: weights bound the frequency.
    limit_ridge: float = 1e-8

    # Tuning. Nothing here makes an interval wrong, or a mechanism less private.
    #: Relative gap at which an optimum of information is good enough.
    solver_tolerance: float = 1e-3
    #: The same of an error.
    error_tolerance: float = 1e-2
    #: Most rounds of an optimum, after which the best mechanism so far has to do.
    solver_rounds: int = 30
    #: Nodes of branch and bound for the optimum against acquaintances.
    association_nodes: int = 20_000
    #: Rounds of column generation for the least error on large tables, times their cells: 24 on 25 cells.
    #: With 225, errors were up to 9% higher on 18 to 56 cells, in half of the time.
    estimate_work: int = 600
    #: Its least rounds there.
    least_estimate_rounds: int = 3
    #: Nodes of branch and bound for its bound, or rays: with 20,000, errors were lower by up to 0.03%.
    estimate_nodes: int = 5_000
    #: Designs at most in the search for the level of one of several reports: two or three are usual.
    calibrations: int = 6
    #: What share of the level of all reports together it may leave unused.
    calibration_gap: float = 0.01
    #: Quadratic programs for the weights of an interval, each with the standard deviation of the one before.
    limit_programs: int = 3
    #: Biased weights are used if they bring a limit this share closer, at the table of the design.
    limit_gain: float = 0.1
    #: Most halvings for the bound of a difference of rates: then it is wider than it could be.
    bound_rounds: int = 200
    #: Share of the error of an interval of a difference or a ratio of rates that the interval of its nuisance
    #: has, the rate that it is compared with.
    nuisance_share: float = 0.1
    #: Numbers that the limits of rates are computed of at a time: some ten megabytes.
    piece: int = 2**20
    #: Distributions, of F or given that U is one of two values, among which an audit looks for a telling one.
    audited_distributions: int = 500
    #: Largest logarithm of the odds of the two values of such a pair that an acquaintance has from elsewhere:
    #: odds of 3,000 to one.
    audited_odds: float = 8.0


SETTINGS = SurveySettings()
