/// What the client of etcd says of its calls at one moment.
package struct EtcdReport: Sendable {
    /// Why no server answers; nil if one does.
    package var trouble: String?
    package var membership = EtcdClient.Membership.known
    /// What is to be said of each address that is of another etcd, also while one of the known one
    /// answers.
    package var strangers: [String] = []
    /// Why calls were refused last, by what they were for; without those that were answered since.
    ///
    /// What keeps all calls from being made is in ``trouble``, and not here.
    package var troubles: [EtcdClient.Use: String] = [:]
    /// How many calls have failed, by kinds.
    package var failureCounts: [EtcdFailureKind: UInt64] = [:]

    package init() {}

    init(
        trouble: String?,
        membership: EtcdClient.Membership,
        strangers: [String],
        troubles: [EtcdClient.Use: String],
        failureCounts: [EtcdFailureKind: UInt64]
    ) {
        self.trouble = trouble
        self.membership = membership
        self.strangers = strangers
        self.troubles = troubles
        self.failureCounts = failureCounts
    }
}
