internal import LatchkeyReplicas
internal import LatchkeySettings

extension ClusterAgreement {
    /// The agreement of a service with these choices, in the etcd with this cluster ID, if it is
    /// known.
    init(_ configuration: ServiceConfiguration, etcd: UInt64? = nil) {
        var settings: [String: String] = [:]
        for setting in ServiceConfiguration.settings where Self.names.contains(setting.name) {
            settings[setting.name] = setting.text(in: configuration)
        }
        for limit in ServiceConfiguration.limits where Self.limitNames.contains(limit.name) {
            settings[limit.name] = limit.text(in: configuration)
        }
        self.init(
            settings: settings,
            start: configuration.chosenStart,
            rules: configuration.cluster.rules,
            etcd: etcd
        )
    }
}
