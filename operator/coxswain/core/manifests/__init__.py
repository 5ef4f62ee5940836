"""What Kubernetes is given for one attempt of a job: an Indexed Job, and where several pods train together a Service.

    environment  a job's parameters as the variables that workers read
    pods         the pod of a worker: unprivileged, without an API token, on a read-only root
    attempt      the objects of one attempt

Everything is a plain mapping, as the API server takes it. Nothing is looked up here: what has to be known of the
cluster (the job's UID, the Service's address, which images were installed) is an argument.
"""

from coxswain.core.manifests.attempt import Attempt, batch_job, needs_service, secret, service

__all__ = ["Attempt", "batch_job", "needs_service", "secret", "service"]
