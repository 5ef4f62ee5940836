"""Which programs make the cluster, in the order they start, with their settings.

Settings that differ from a program's default have their reason beside them. Files are JSON, which every one of these
programs reads in place of YAML.
"""

import json
import secrets
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.cluster.localcluster import places

CNI_PLUGINS = Path("/usr/lib/cni")
API_CERTIFICATE = places.STATE / "apiserver" / "apiserver.crt"

# Who may talk to the API server, by a token each, and the groups that give them their rights.
USERS = {
    "admin": ("admin", "system:masters"),
    "kube-controller-manager": ("system:kube-controller-manager", ""),
    "kube-scheduler": ("system:kube-scheduler", ""),
    "kube-proxy": ("system:kube-proxy", ""),
    "kubelet": (f"system:node:{places.NODE_NAME}", "system:nodes"),
}


@dataclass(frozen=True)
class Component:
    """A program of the cluster and, unless empty, the address that answers once it works."""

    name: str
    command: tuple[str, ...]
    ready: str = ""


def prepare(programs: Path, sandbox_image: str) -> list[Component]:
    """Write every file the components read, and say how to start them."""
    files = places.STATE / "config"
    files.mkdir()
    _credentials(files)
    components = [
        _etcd(),
        _containerd(files, sandbox_image),
        _apiserver(files),
        _controller_manager(files),
        _scheduler(files),
        _kubelet(files),
        _proxy(files),
    ]
    return [
        Component(part.name, (str(programs / part.command[0]), *part.command[1:]), part.ready)
        if part.name != "containerd"
        else part
        for part in components
    ]


def save(components: list[Component], path: Path) -> None:
    """Write the components where the cluster's first process reads them."""
    path.write_text(json.dumps([asdict(component) for component in components], indent=2))


def load(path: Path) -> list[Component]:
    """Read what `save` wrote."""
    return [Component(item["name"], tuple(item["command"]), item["ready"]) for item in json.loads(path.read_text())]


def _credentials(files: Path) -> None:
    tokens = {who: secrets.token_hex(16) for who in USERS}
    (files / "tokens.csv").write_text(
        "".join(f'{tokens[who]},{user},{user},"{group}"\n' for who, (user, group) in USERS.items())
    )
    for who, token in tokens.items():
        path = places.KUBECONFIG if who == "admin" else files / f"{who}.kubeconfig"
        _write(path, _kubeconfig(who, token))
    _openssl("ecparam", "-genkey", "-noout", "-name", "prime256v1", "-out", files / "accounts.key")
    # The API server's own proof towards the kubelet: a certificate that is its own authority.
    _openssl(
        *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "365"),
        *("-subj", "/O=system:masters/CN=kube-apiserver", "-addext", "extendedKeyUsage=clientAuth"),
        *("-keyout", files / "kubelet-client.key", "-out", files / "kubelet-client.crt"),
    )


def _kubeconfig(user: str, token: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "local", "cluster": {"server": places.API_URL, "certificate-authority": str(API_CERTIFICATE)}}
        ],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": "local", "context": {"cluster": "local", "user": user}}],
        "current-context": "local",
    }


def _etcd() -> Component:
    address = "http://127.0.0.1:2379"
    return Component(
        "etcd",
        (
            "etcd",
            f"--data-dir={places.STATE / 'etcd'}",
            f"--listen-client-urls={address}",
            f"--advertise-client-urls={address}",
            "--listen-peer-urls=http://127.0.0.1:2380",
            "--unsafe-no-fsync",  # what is written here need not outlive a power cut
            "--log-level=warn",
        ),
        f"{address}/health",
    )


def _apiserver(files: Path) -> Component:
    audit = {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [{"level": "Metadata"}],
    }
    return Component(
        "kube-apiserver",
        (
            "kube-apiserver",
            "--etcd-servers=http://127.0.0.1:2379",
            f"--advertise-address={places.NODE_ADDRESS}",
            f"--cert-dir={API_CERTIFICATE.parent}",
            f"--service-cluster-ip-range={places.SERVICE_RANGE}",
            f"--token-auth-file={files / 'tokens.csv'}",
            "--authorization-mode=Node,RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={files / 'accounts.key'}",
            f"--service-account-signing-key-file={files / 'accounts.key'}",
            f"--kubelet-client-certificate={files / 'kubelet-client.crt'}",
            f"--kubelet-client-key={files / 'kubelet-client.key'}",
            "--kubelet-preferred-address-types=InternalIP",  # the node's name means nothing without DNS
            f"--audit-policy-file={_write(files / 'audit.json', audit)}",
            f"--audit-log-path={places.LOGS / 'audit.log'}",
        ),
        f"{places.API_URL}/readyz",
    )


def _controller_manager(files: Path) -> Component:
    return Component(
        "kube-controller-manager",
        (
            "kube-controller-manager",
            f"--kubeconfig={files / 'kube-controller-manager.kubeconfig'}",
            f"--root-ca-file={API_CERTIFICATE}",
            f"--service-account-private-key-file={files / 'accounts.key'}",
            "--use-service-account-credentials",
            "--leader-elect=false",
            # By default Jobs start no more than some 9 pods a second.
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
            "--concurrent-job-syncs=20",
        ),
    )


def _scheduler(files: Path) -> Component:
    kubeconfig = files / "kube-scheduler.kubeconfig"
    return Component(
        "kube-scheduler",
        (
            "kube-scheduler",
            f"--kubeconfig={kubeconfig}",
            "--leader-elect=false",
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
        ),
    )


def _containerd(files: Path, sandbox_image: str) -> Component:
    root = places.STATE / "containerd"
    network = {
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [
            {
                "type": "bridge",
                "bridge": "cni0",
                "isGateway": True,
                "ipMasq": False,
                "hairpinMode": True,  # a pod reaches itself through its Service
                "ipam": {
                    "type": "host-local",
                    "ranges": [[{"subnet": places.POD_RANGE}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            },
            {"type": "portmap", "capabilities": {"portMappings": True}},
        ],
    }
    (files / "cni").mkdir()
    _write(files / "cni" / "pods.conflist", network)
    config = files / "containerd.toml"
    # restrict_oom_score_adj: a root that may not lower the score would see every sandbox die.
    config.write_text(f"""\
version = 2
root = "{root / "root"}"
state = "{root / "state"}"
[grpc]
  address = "{places.CONTAINERD_SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{sandbox_image}"
  restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "{CNI_PLUGINS}"
  conf_dir = "{files / "cni"}"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = false
""")
    return Component(
        "containerd", ("containerd", f"--config={config}", "--log-level=warn"), f"unix:{places.CONTAINERD_SOCKET}"
    )


def _kubelet(files: Path) -> Component:
    # Without DNS a look-up should fail at once, not wait for the servers this machine uses.
    resolver = files / "resolv.conf"
    resolver.write_text("")
    config = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": places.NODE_ADDRESS,
        "authentication": {
            "anonymous": {"enabled": False},
            "x509": {"clientCAFile": str(files / "kubelet-client.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "containerRuntimeEndpoint": f"unix://{places.CONTAINERD_SOCKET}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{places.CGROUP}",
        "failSwapOn": False,
        "failCgroupV1": False,
        "resolvConf": str(resolver),
        "podLogsDir": str(places.LOGS / "pods"),
        "volumePluginDir": str(places.STATE / "volume-plugins"),
        # Images have no registry to come back from.
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "evictionHard": {"memory.available": "64Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "syncFrequency": "10s",
        "kubeAPIQPS": 500,
        "kubeAPIBurst": 1000,
        "serializeImagePulls": False,
    }
    return Component(
        "kubelet",
        (
            "kubelet",
            f"--config={_write(files / 'kubelet.json', config)}",
            f"--kubeconfig={files / 'kubelet.kubeconfig'}",
            f"--root-dir={places.STATE / 'kubelet'}",
            f"--hostname-override={places.NODE_NAME}",
            f"--node-ip={places.NODE_ADDRESS}",
        ),
        "http://127.0.0.1:10248/healthz",
    )


def _proxy(files: Path) -> Component:
    config = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": str(files / "kube-proxy.kubeconfig")},
        "clusterCIDR": places.POD_RANGE,
        "hostnameOverride": places.NODE_NAME,
        "mode": "iptables",
        # These limits are the whole machine's, and not ours to set.
        "conntrack": {"maxPerCore": 0, "min": 0},
    }
    return Component(
        "kube-proxy",
        ("kube-proxy", f"--config={_write(files / 'kube-proxy.json', config)}"),
        "http://127.0.0.1:10256/healthz",
    )


def _write(path: Path, content: Mapping[str, Any]) -> Path:
    path.write_text(json.dumps(content, indent=2))
    return path


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
