"""What runs inside training pods and, without a cluster, as local processes.

`report` is the contract with whoever started the job: parameters in by environment, progress out by a Prometheus
endpoint, the result by a termination message and an exit code. It needs nothing but the standard library and
prometheus-client, so that a user's own script can have it too. `torch` trains the built-in networks by that contract.
"""
