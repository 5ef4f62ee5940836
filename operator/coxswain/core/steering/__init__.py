"""Steering: from the jobs of a queue and what their families have taught to what each of them should run with.

choices  the settings that a job allows
scene    the jobs of a queue as the planner sees them
steps    what a plan changes, in the words of the API
"""
