"""How long jobs wait: by formula where one holds, by simulation to check it, and estimated from what was recorded.

    formulas        one Poisson stream, k equal servers: M/M/1, M/M/k, M/G/1, M/G/k
    comparison      one fast server or k slow ones, and where the answer turns
    laws            what holds for any system: utilisation, Little, forced flow, response time, bottleneck bounds
    distributions   service times with a chosen mean and variability
    simulation      the exact recursion of a first-come-first-served queue, many replications at a time
    records         arrival, start and end of jobs, checked
    estimation      rates and moments of such records, with intervals

Times are in whatever unit the caller uses, rates in one over that unit. "cv2" is the squared coefficient of variation,
variance over squared mean: 0 for a constant, 1 for the exponential distribution.
"""
