/// The identity of a log: a place in one log means nothing in another.
package struct LogIdentity: Sendable, Hashable {
    /// The cluster ID of etcd.
    ///
    /// Members that were started as a new cluster have another ID. A restored etcd has another ID
    /// if its members or its token (`--initial-cluster-token`) differ.
    package var etcd: UInt64
    /// The revision of etcd at which the log's key was made; nil before the first entry.
    package var created: UInt64?

    package init(etcd: UInt64, created: UInt64? = nil) {
        (self.etcd, self.created) = (etcd, created)
    }
}

extension UInt64 {
    /// The cluster ID as etcd's log writes it.
    package var hexadecimal: String { String(self, radix: 16) }
}
