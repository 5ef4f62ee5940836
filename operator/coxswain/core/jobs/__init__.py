"""The life of a TrainingJob, decided: what is seen of it goes in, what to do and what to say comes out.

    view        the job, its Job and its pods as the cluster holds them
    parameters  what a job runs with: what was asked for, overlaid with what was steered
    ending      how an attempt ended, from what is left of its pods
    life        the decision: `decide(snapshot)`
    cold        what a job does while too little is known to forecast it
    kueue       where Kueue decides about the start
    foreseen    the forecast in the status
    entries     what the ledger keeps of a job
    decision    what comes out of it, and `actions` what it may ask for
    words       conditions, columns and sentences for people
    admission   which of the waiting jobs may start now

Nothing here knows a clock or a cluster; the same snapshot always gives the same decision.
"""
