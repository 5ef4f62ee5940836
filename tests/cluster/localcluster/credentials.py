"""Who may do what: a token for everyone who talks to the API server, and the keys it needs itself.

The API server makes its own serving certificate, which is its own authority; everyone else trusts that file.
"""

import secrets
import subprocess
from pathlib import Path

from tests.cluster.localcluster import places
from tests.cluster.localcluster.components import write_file

FOLDER = places.STATE / "credentials"
TOKENS = FOLDER / "tokens.csv"
API_CERTIFICATE = FOLDER / "apiserver.crt"
ACCOUNTS_KEY = FOLDER / "accounts.key"
KUBELET_CLIENT_CERTIFICATE = FOLDER / "kubelet-client.crt"
KUBELET_CLIENT_KEY = FOLDER / "kubelet-client.key"

# Each with its user name and its group; Kubernetes has roles for these from the start.
HOLDERS = {
    "admin": ("admin", "system:masters"),
    "kube-controller-manager": ("system:kube-controller-manager", ""),
    "kube-scheduler": ("system:kube-scheduler", ""),
    "kube-proxy": ("system:kube-proxy", ""),
    "kubelet": (f"system:node:{places.NODE_NAME}", "system:nodes"),
}


def make() -> None:
    """Make all tokens, keys and kubeconfigs."""
    FOLDER.mkdir()
    tokens = {holder: secrets.token_hex(16) for holder in HOLDERS}
    TOKENS.write_text(
        "".join(f'{tokens[holder]},{user},{user},"{group}"\n' for holder, (user, group) in HOLDERS.items())
    )
    for holder, token in tokens.items():
        _write_kubeconfig(holder, token)
    _openssl("ecparam", "-genkey", "-noout", "-name", "prime256v1", "-out", ACCOUNTS_KEY)
    _openssl(
        *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "365"),
        *("-subj", "/O=system:masters/CN=kube-apiserver", "-addext", "extendedKeyUsage=clientAuth"),
        *("-keyout", KUBELET_CLIENT_KEY, "-out", KUBELET_CLIENT_CERTIFICATE),
    )


def kubeconfig(holder: str) -> Path:
    """The file by which a holder of a token reaches the API server."""
    return places.KUBECONFIG if holder == "admin" else FOLDER / f"{holder}.kubeconfig"


def _write_kubeconfig(holder: str, token: str) -> None:
    server = {"server": places.API_URL, "certificate-authority": str(API_CERTIFICATE)}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "local", "cluster": server}],
        "users": [{"name": holder, "user": {"token": token}}],
        "contexts": [{"name": "local", "context": {"cluster": "local", "user": holder}}],
        "current-context": "local",
    }
    write_file(kubeconfig(holder), content)


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
