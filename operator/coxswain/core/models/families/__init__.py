"""Every kind of model that competes, by name."""

from coxswain.core.models.families.base import Family, Regressor, Setting, Spread, Value, Variances
from coxswain.core.models.families.combined import DOE_FOREST
from coxswain.core.models.families.gaussian import GAUSSIAN_PROCESS, LOG_LOG
from coxswain.core.models.families.learners import BOOSTING, FOREST, LASSO, NETWORK, TREE
from coxswain.core.models.families.least_squares import LINEAR, POLYNOMIAL, RIDGE
from coxswain.core.models.families.operational import OPERATIONAL
from coxswain.core.models.families.parts import PARTS

FAMILIES: tuple[Family, ...] = (
    LOG_LOG,
    GAUSSIAN_PROCESS,
    PARTS,
    LINEAR,
    POLYNOMIAL,
    RIDGE,
    LASSO,
    TREE,
    FOREST,
    BOOSTING,
    NETWORK,
    OPERATIONAL,
    DOE_FOREST,
)

__all__ = ["FAMILIES", "Family", "Regressor", "Setting", "Spread", "Value", "Variances"]
