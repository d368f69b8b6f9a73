/// The report of the etcd client on its calls at one moment.
package struct EtcdReport: Sendable {
    /// Why no server answers; nil if one does.
    package var trouble: String?
    package var membership = EtcdClient.Membership.known
    /// The messages about addresses of another etcd, also while a member of the known one answers.
    package var strangers: [String] = []
    /// The reasons of the last refused calls, by use; without calls that were answered since.
    ///
    /// A reason that stops all calls is in ``trouble``, and not here.
    package var troubles: [EtcdClient.Use: String] = [:]
    /// How many calls have failed, by kind.
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
