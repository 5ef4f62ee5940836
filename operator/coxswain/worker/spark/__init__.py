"""A Spark cluster that a job brings with it: its pods are the nodes, and it goes when the job goes.

Node 0 (the pod with completion index 0) runs the standalone Master, the driver and the first Worker; every other node
runs a Worker. `shape` says how large it all is, `cluster` is node 0's part, `follow` that of the others, `talk` is how
they keep in touch, `training` trains on it by TorchDistributor, and `failures` tells what Spark's errors mean.
"""
