"""A whole Kubernetes on this machine, for tests and for trying things out.

    python -m tests.cluster.localcluster up | down | status | build

Everything the cluster runs lives in its own process, mount and network namespaces, below one first process (`init`).
When that process ends, for whatever reason, the kernel ends everything else: programs, pods, mounts, interfaces,
iptables rules. What the kernel leaves (a folder, cgroups, a few settings of the kernel) is written down before it is
made, so that `down` or the next `up` can remove it even after a crash.

    packages      the programs Debian has: containerd, runc, iptables, buildah, …
    binary        the programs it does not have, built once from the Go module beside this package
    images        container images built from Dockerfiles, kept as archives
    recipes       what each image is made from; `debian` makes the system they start from
    components    which programs run, with which settings
    machine       what is changed outside the namespaces: cgroups, the link into the cluster, kernel settings
    init          the first process inside: starts the components in order and waits
    lifecycle     up, down and status, put together from the above
"""
