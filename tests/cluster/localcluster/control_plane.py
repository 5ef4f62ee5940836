"""The control plane: etcd, the API server, the controllers and the scheduler.

Settings that differ from a program's own have their reason beside them.
"""

from tests.cluster.localcluster import credentials, places
from tests.cluster.localcluster.components import Component, write_file

# Inside the cluster's network namespace, and so out of reach for everyone else on the machine.
ETCD_URL = "http://127.0.0.1:2379"

# Jobs would start no more than some 9 pods a second at the default rates.
QUICK = ("--kube-api-qps=500", "--kube-api-burst=1000")


def etcd() -> Component:
    """The store."""
    command = (
        "etcd",
        f"--data-dir={places.STATE / 'etcd'}",
        f"--listen-client-urls={ETCD_URL}",
        f"--advertise-client-urls={ETCD_URL}",
        "--listen-peer-urls=http://127.0.0.1:2380",
        "--unsafe-no-fsync",  # nothing here need outlive a power cut
        "--log-level=warn",
    )
    return Component("etcd", command, f"{ETCD_URL}/health")


def apiserver() -> Component:
    """The API server, with an audit log of who asked for what."""
    audit_policy = {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [{"level": "Metadata"}],
    }
    command = (
        "kube-apiserver",
        f"--etcd-servers={ETCD_URL}",
        f"--advertise-address={places.NODE_ADDRESS}",
        f"--service-cluster-ip-range={places.SERVICE_RANGE}",
        f"--cert-dir={credentials.API_CERTIFICATE.parent}",
        f"--token-auth-file={credentials.TOKENS}",
        "--authorization-mode=Node,RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={credentials.ACCOUNTS_KEY}",
        f"--service-account-signing-key-file={credentials.ACCOUNTS_KEY}",
        f"--kubelet-client-certificate={credentials.KUBELET_CLIENT_CERTIFICATE}",
        f"--kubelet-client-key={credentials.KUBELET_CLIENT_KEY}",
        "--kubelet-preferred-address-types=InternalIP",  # without DNS the node's name leads nowhere
        f"--audit-policy-file={write_file(places.CONFIGURATION / 'audit.json', audit_policy)}",
        f"--audit-log-path={places.AUDIT_LOG}",
    )
    return Component("kube-apiserver", command, f"{places.API_URL}/readyz")


def controller_manager() -> Component:
    """The controllers of everything built in."""
    command = (
        "kube-controller-manager",
        f"--kubeconfig={credentials.kubeconfig('kube-controller-manager')}",
        f"--root-ca-file={credentials.API_CERTIFICATE}",
        f"--service-account-private-key-file={credentials.ACCOUNTS_KEY}",
        "--use-service-account-credentials",
        f"--flex-volume-plugin-dir={places.VOLUME_PLUGINS}",
        "--leader-elect=false",  # it is the only one, and need not wait to be sure of that
        "--concurrent-job-syncs=20",
        *QUICK,
    )
    return Component("kube-controller-manager", command, "tcp:10257")


def scheduler() -> Component:
    """The scheduler."""
    kubeconfig = credentials.kubeconfig("kube-scheduler")
    command = ("kube-scheduler", f"--kubeconfig={kubeconfig}", "--leader-elect=false", *QUICK)
    return Component("kube-scheduler", command, "tcp:10259")
