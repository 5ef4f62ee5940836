"""The same experiment without a cluster: its runs as worker processes of this machine.

    folder      what is kept: observations, one line each, and what every attempt left behind
    plan        what can be run here, and what the manifest asks for in vain
    cores       which worker may use which cores
    leash       the process between `cox` and a worker, which ends the worker when `cox` ends
    gang        the workers of one attempt of one job
    verdict     what their last words and exit codes mean
    progress    how far a job is, from its metrics
    runner      the loop that starts, watches, retries and records

Nothing here knows a terminal: the runner tells a `Display` what happens.
"""
