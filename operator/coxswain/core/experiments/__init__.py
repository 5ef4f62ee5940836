"""The life of a TrainingExperiment, decided: which runs to create now, and what to say.

view      the experiment, and what has become of its runs
plan      its design with its runs, or its search as far as it has come
life      the decision: `decide(snapshot)`
children  the TrainingJobs of a run
queue     the queue that its runs saw, where they came by themselves
findings  what its results say, in short for the status and whole for a ConfigMap
"""
