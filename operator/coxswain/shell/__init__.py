"""The operator's hands: everything that touches the cluster. What to do is decided in `coxswain.core`."""
