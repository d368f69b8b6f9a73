"""Clusters that act as one service: clients speak to the first replica, the others follow."""

from network import Loopback
from replicas import STRATEGIES, Cluster


class ClusterAsService(Cluster):
    """A context manager that yields the first replica. In the end, all must be the same."""

    def __init__(self, binary, folder, count, *options, token=None):
        super().__init__(binary, folder, None, Loopback(), member_count=1, replica_count=count)
        for replica in self.replicas:
            replica.options = options
            replica.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def start_replicas(self):
        for replica, strategy in zip(self.replicas, STRATEGIES):
            replica.start(strategy, skew=0)

    def __enter__(self):
        super().__enter__()
        return self.replicas[0]

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self.settle(can_expire=True)
                for replica in self.replicas:
                    replica.end()
        finally:
            self.kill()
