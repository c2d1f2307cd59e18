"""Clusters of dask: on this machine, queued jobs, an address, a scheduler file, or the user's own objects."""

from daskgraphpart.registry import Clusters

CLUSTERS = Clusters(
    ("local", "slurm", "pbs", "sge", "lsf", "htcondor", "oar", "moab"),
    "local, slurm, or an address",
    "local is a dask LocalCluster; slurm, pbs, sge, lsf, htcondor, oar and moab submit jobs through dask-jobqueue; an "
    "address or a scheduler file is that of a running scheduler. In Python also a Client or a Cluster. Default: "
    "daskgraphpart.cluster of dask's configuration, else an active Client, else threads.",
    "daskgraphpart.plugins.clusters.on_cluster",
)
