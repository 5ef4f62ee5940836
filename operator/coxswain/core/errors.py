"""What can go wrong in the core, seen from the person who caused it.

    CoxswainError           anything this project raises on purpose
    └── InputError          what was given cannot be used; the sentence says what to change

The command line prints the sentence and ends with exit code 2; the operator writes it into a condition.
"""


class CoxswainError(Exception):
    """Anything this project raises on purpose."""


class InputError(CoxswainError, ValueError):
    """What was given cannot be used; the message is one sentence that says what to change."""
