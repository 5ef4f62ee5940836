"""Coxswain learns how long training takes and steers training jobs to their deadlines.

The package has a pure core (designs, analysis, models, queueing, planning: no clock, no I/O) and thin shells
around it: the command line in `cli`, the training programs in `worker`, the local runner in `local`, and the
Kubernetes operator in `shell` with all its routes in `routes`.
"""

__version__ = "0.1.0"
