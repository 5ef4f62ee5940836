"""An experiment's results as one HTML file that needs nothing else: no network, no script, plots drawn as SVG.

    markup    elements of HTML and SVG, with everything a user wrote made harmless
    plot      axes and marks: what every chart is drawn with
    charts    the charts of one response
    page      the whole report

`render` is pure: the same results give the same file, to the byte.
"""

from coxswain.report.page import render

__all__ = ["render"]
