"""Searches in place of designs: each setting that is tried follows from what the ones before it gave.

    trials    what has been tried: a row with the responses of its runs
    space     what may be tried: a start, steps from a setting, and the settings a model may choose among
    judge     whether one setting is better than another, or may only seem so
    climb     HillClimb: doubling while it pays, then small steps
    bayes     BayesianOptimization: where a model expects the most, after CherryPick
    improvement, process    the model, and what it expects
    course    the whole of a search so far: its rows, the best of them, what to run next or why it is over
    plan      the same as a design with its runs, as an experiment makes them
    queue     what the best setting does to a queue of such jobs
    document  the course as plain values, for programs

Nothing is remembered between two looks: the course is computed again from the spec and from what was begun and
observed, so that whatever ends the operator or `cox run`, the next look goes on where the last one was.
"""

from coxswain.core.search.course import Course, Step, course_of
from coxswain.core.search.document import search_document
from coxswain.core.search.plan import SearchPlan, plan_search
from coxswain.core.search.queue import Queues, queues_of
from coxswain.core.search.trials import Begun, Trial

__all__ = [
    "Begun",
    "Course",
    "Queues",
    "SearchPlan",
    "Step",
    "Trial",
    "course_of",
    "plan_search",
    "queues_of",
    "search_document",
]
