"""The ledger: the observations of all finished runs, kept in the cluster for good, exactly one for each.

Pure: from ConfigMaps as they are listed to entries, and from entries to the ConfigMaps to create and to delete.

    entry      one observation with what it is known by: the run's UID, its family, its fields
    objects    entries as ConfigMaps, one each or many in a chunk; exclusions; reading whatever is found
    book       entries in memory, by what they are asked for
    upkeep     which single entries to put together into chunks, and which chunks are too old to keep
    table      entries as CSV, both ways
    measured   measurements that someone else made
"""

from coxswain.core.ledger.entry import Entry, Key

__all__ = ["Entry", "Key"]
