"""Limits and accuracy of mechanisms for questionnaires. Loads nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class QuestionnaireSettings:
    """Numbers that questionnaires are treated with."""

    # Stated limits.
    #: Questions of a questionnaire.
    max_questions: int = 60
    #: Answers to a question: each has a letter in a report.
    max_answers: int = 36
    #: Questions of a table that is wanted.
    max_order: int = 3
    #: Combinations of answers of which all sets are tried, 2 to this power: a second.
    listed_cells: int = 16

    # Tuning. What is found has less error, or a bound is higher.
    #: Questions that are answered together.
    asked_together: int = 4
    #: Questions answered together of which more than `listed_cells` combinations are possible.
    asked_of_many: int = 3
    #: Sizes of the sets of answers to a question that are tried there.
    set_sizes: int = 6
    #: Combinations up to which sets at random are tried.
    random_cells: int = 1_500
    #: Relative gap at which the weights of sets of answers are good enough.
    gap: float = 1e-4
    #: By which share the error may rise so that there are fewer sets of answers.
    fewer: float = 1e-3


SETTINGS = QuestionnaireSettings()
