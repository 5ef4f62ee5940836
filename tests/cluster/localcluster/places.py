"""Where things are: the folders, names and addresses of the one local cluster a machine can have.

The addresses come from 198.18.0.0/15, which is set aside for tests and so used by no network a machine is part of.
"""

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]

# Not below /run (often kept in memory) nor /var/lib, /var/log (the cluster has its own): a disk, and root's alone.
STATE = Path("/var/cache/coxswain-cluster")
LOCK = Path("/run/coxswain-cluster.lock")
CONFIGURATION = STATE / "configuration"
LOGS = STATE / "logs"
AUDIT_LOG = LOGS / "audit.log"
VOLUME_PLUGINS = STATE / "volume-plugins"
KUBECONFIG = STATE / "kubeconfig"
CONTAINERD_SOCKET = STATE / "containerd" / "containerd.sock"
CONTAINERD_ROOT = STATE / "containerd" / "root"

CGROUP = "coxswain-cluster"
HOST_INTERFACE = "coxswain0"
NODE_NAME = "local"

HOST_ADDRESS = "198.18.0.1"
NODE_ADDRESS = "198.18.0.2"
SERVICE_RANGE = "198.18.128.0/17"
POD_RANGE = "198.19.0.0/16"
API_URL = f"https://{NODE_ADDRESS}:6443"


def cache() -> Path:
    """The user's folder for what takes long to make and can be made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "coxswain"
