"""What can go wrong with the local cluster, said in a sentence to the person who wanted one."""


class ClusterError(Exception):
    """The local cluster cannot be had; the message says why and what to do."""
