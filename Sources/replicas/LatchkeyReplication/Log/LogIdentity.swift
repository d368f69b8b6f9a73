/// Which log a place is of: the revisions of another one mean nothing in it.
package struct LogIdentity: Sendable, Hashable {
    /// The cluster ID of etcd.
    ///
    /// Members that were started as a new cluster have another one. A restored etcd has another one
    /// if its members or its token (`--initial-cluster-token`) are others.
    package var etcd: UInt64
    /// The revision of etcd at which the log's key was made; nil before the first entry.
    package var created: UInt64?

    package init(etcd: UInt64, created: UInt64? = nil) {
        (self.etcd, self.created) = (etcd, created)
    }
}

extension UInt64 {
    /// As etcd's log has the ID of a cluster.
    package var hexadecimal: String { String(self, radix: 16) }
}
