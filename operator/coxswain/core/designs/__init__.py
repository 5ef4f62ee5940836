"""Designs of experiments: which settings to run, so that few runs tell much.

    design = build(factors, FractionalFactorial(generators=("D=AB", "E=AC"), replications=3, seed=42))
    design.rows, design.runs, design.resolution, design.fraction.aliases(2), design.digest

`build` makes a `Design` from factors and one value of options, whose type is the kind of design. `detectable` says how
small an effect the design can find. All of it is pure: the same options give the same design everywhere.
"""

from coxswain.core.designs.base import DesignOptions, Order
from coxswain.core.designs.build import build
from coxswain.core.designs.design import Design, Row, Run
from coxswain.core.designs.factorial import FractionalFactorial, FullFactorial
from coxswain.core.designs.given import Rows
from coxswain.core.designs.optimal import DOptimal, Model
from coxswain.core.designs.power import Power, TermPower, detectable
from coxswain.core.designs.response_surface import Alpha, BoxBehnken, CentralComposite
from coxswain.core.designs.screening import DefinitiveScreening, PlackettBurman
from coxswain.core.designs.space_filling import LatinHypercube
from coxswain.core.designs.words import Fraction, Word

__all__ = [
    "Alpha",
    "BoxBehnken",
    "CentralComposite",
    "DOptimal",
    "DefinitiveScreening",
    "Design",
    "DesignOptions",
    "Fraction",
    "FractionalFactorial",
    "FullFactorial",
    "LatinHypercube",
    "Model",
    "Order",
    "PlackettBurman",
    "Power",
    "Row",
    "Rows",
    "Run",
    "TermPower",
    "Word",
    "build",
    "detectable",
]
