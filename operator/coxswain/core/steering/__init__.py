"""Steering: from the jobs of a queue and what their families have taught to what each of them should run with.

choices       the settings that a job allows
alternatives  those that it does not allow, or that are near what it has
predictions   what a family's models say of settings
explore       which jobs vary their setting at random, and to what
contention    how much jobs slow each other down
options       the settings of a job as the planner takes them
scene         the jobs of a queue as the planner sees them
remedies      what would do for a job that cannot be in time
steps         what a plan changes, in the words of the API
found         a queue put together from jobs and observations as they are found
account       what would be done with each job, what that is made of, and what would change it
"""
