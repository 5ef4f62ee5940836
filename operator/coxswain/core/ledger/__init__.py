"""The ledger: the observations of all finished runs, kept in the cluster for good, exactly one for each.

Pure: from ConfigMaps as they are listed to entries, and from entries to the ConfigMaps to create and to delete.

    entry      one observation with what it is known by: the run's UID, its family, its fields
    table      entries as CSV, both ways, and measurements that someone else made
    objects    entries as ConfigMaps, one each or many in a chunk; exclusions; reading whatever is found
    upkeep     which single entries to put together into chunks, and which chunks are too old to keep
"""

from coxswain.core.ledger.entry import Entry

__all__ = ["Entry"]
