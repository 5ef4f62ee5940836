"""The node: containerd with a bridge for the pods, the kubelet and kube-proxy.

Settings that differ from a program's own have their reason beside them.
"""

from pathlib import Path

from tests.cluster.localcluster import credentials, places
from tests.cluster.localcluster.components import Component, write_file

CNI_PLUGINS = Path("/usr/lib/cni")
CNI_CONFIGURATION = places.CONFIGURATION / "cni"


def containerd(sandbox_image: str) -> Component:
    """The container runtime; its sandbox image holds a pod's network."""
    _write_pod_network()
    root = places.CONTAINERD_SOCKET.parent
    configuration = places.CONFIGURATION / "containerd.toml"
    # restrict_oom_score_adj: every sandbox would die where root may not lower a process's score (CAP_SYS_RESOURCE).
    configuration.write_text(f"""\
version = 2
root = "{places.CONTAINERD_ROOT}"
state = "{root / "state"}"
[grpc]
  address = "{places.CONTAINERD_SOCKET}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{root / "opt"}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{sandbox_image}"
  restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "{CNI_PLUGINS}"
  conf_dir = "{CNI_CONFIGURATION}"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = false
""")
    command = ("containerd", f"--config={configuration}", "--log-level=warn")
    return Component("containerd", command, f"unix:{places.CONTAINERD_SOCKET}")


def _write_pod_network() -> None:
    addresses = {"type": "host-local", "ranges": [[{"subnet": places.POD_RANGE}]], "routes": [{"dst": "0.0.0.0/0"}]}
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "hairpinMode": True,  # a pod reaches itself through its Service
        "ipam": addresses,
    }
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    network = {"cniVersion": "1.0.0", "name": "pods", "plugins": [bridge, ports]}
    write_file(CNI_CONFIGURATION / "pods.conflist", network)


def kubelet() -> Component:
    """What runs pods on the node."""
    # With no server to ask, a pod's look-up of a name fails at once.
    resolver = places.CONFIGURATION / "resolv.conf"
    resolver.touch()
    configuration = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": places.NODE_ADDRESS,
        "authentication": {
            "anonymous": {"enabled": False},
            "x509": {"clientCAFile": str(credentials.KUBELET_CLIENT_CERTIFICATE)},
        },
        "authorization": {"mode": "Webhook"},
        "containerRuntimeEndpoint": f"unix://{places.CONTAINERD_SOCKET}",
        "cgroupDriver": "cgroupfs",  # there need be no systemd
        "cgroupRoot": f"/{places.CGROUP}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "resolvConf": str(resolver),
        "podLogsDir": str(places.LOGS / "pods"),
        "volumePluginDir": str(places.VOLUME_PLUGINS),
        # Images have no registry to come back from, and the disk is not ours alone.
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "evictionHard": {"memory.available": "64Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "kubeAPIQPS": 500,
        "kubeAPIBurst": 1000,
    }
    command = (
        "kubelet",
        f"--config={write_file(places.CONFIGURATION / 'kubelet.json', configuration)}",
        f"--kubeconfig={credentials.kubeconfig('kubelet')}",
        f"--root-dir={places.STATE / 'kubelet'}",
        f"--hostname-override={places.NODE_NAME}",
        f"--node-ip={places.NODE_ADDRESS}",
    )
    return Component("kubelet", command, "http://127.0.0.1:10248/healthz")


def proxy() -> Component:
    """What leads a Service's address to its pods."""
    configuration = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": str(credentials.kubeconfig("kube-proxy"))},
        "clusterCIDR": places.POD_RANGE,
        "hostnameOverride": places.NODE_NAME,
        "mode": "iptables",
        "conntrack": {"maxPerCore": 0, "min": 0},  # these limits are the whole machine's
    }
    command = ("kube-proxy", f"--config={write_file(places.CONFIGURATION / 'kube-proxy.json', configuration)}")
    return Component("kube-proxy", command, "http://127.0.0.1:10256/healthz")
