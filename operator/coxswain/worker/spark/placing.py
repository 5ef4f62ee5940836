"""Tasks that run where their data are.

The nodes of a job's cluster need not share a file system. So what is written on a node is read there: the partitions
that `placed` makes say on which host they want to be computed, and the cluster's `spark.locality.wait` makes that an
order.
"""

import pickle
from collections.abc import Sequence
from typing import Any

from pyspark import RDD, SparkContext
from pyspark.serializers import CPickleSerializer


def placed(context: SparkContext, partitions: int, hosts: Sequence[str]) -> "RDD[int]":
    """The numbers from 0 on, one a partition, dealt to the hosts in turn."""
    # Spark's makeRDD takes wanted hosts, but only Scala has it; its elements are what Python calls pickles.
    jvm: Any = context._jvm  # noqa: SLF001
    scala: Any = context._jsc.sc()  # noqa: SLF001
    sequence = jvm.PythonUtils.toSeq
    elements = [
        jvm.scala.Tuple2(bytearray(pickle.dumps(number)), sequence([hosts[number % len(hosts)]]))
        for number in range(partitions)
    ]
    tag = jvm.scala.reflect.ClassTag.AnyRef()
    return RDD(scala.makeRDD(sequence(elements), tag).toJavaRDD(), context, CPickleSerializer())


def cached_partitions(data: "RDD[Any]") -> int:
    """How many partitions are in the cache: those that found no room are computed anew every time."""
    infos: Any = data.context._jsc.sc().getRDDStorageInfo()  # noqa: SLF001
    return sum(info.numCachedPartitions() for info in infos if info.id() == data.id())
