internal import Foundation
internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyReplication
internal import LatchkeySettings
package import LatchkeyStore

/// The settings that all replicas of a cluster must share, because they decide about changes.
///
/// The first replica's settings hold for all: they are a key of etcd.
package struct ClusterAgreement: Codable, Equatable {
    package static let names: Set<String> = Set(
        StoreLimits.settings.map(\.name) + ["max-body-bytes"]
            + IdempotencyLimits.settings.map(\.name)
    )
    /// Limits that were flags in 0.1.
    ///
    /// They are still written, because a replica of 0.1 compares them, and compared, because the
    /// cluster can have been started with others.
    package static let limitNames: Set<String> = ["max-transaction-bytes", "max-idempotency-keys"]

    /// The format of the rules that the log is raised to, or began with: a replica that does not
    /// know them cannot join.
    private(set) var format: Int
    /// The values of the settings, as text, by their names.
    let settings: [String: String]
    /// The revision before the first one.
    let start: Revision
    /// The rules that the log begins with; nil for the first ones, as in a cluster of 0.1.
    private let rules: Int?
    /// The cluster ID of etcd, as `etcdctl` writes it; nil if it is not known, as in a cluster of
    /// 0.1, which ignores this member and the next two.
    private var etcd: String?
    /// The number of the life of the log: one more for each backup of etcd that it went on from.
    private(set) var life: UInt64?
    /// The revision of etcd at which the log's key was made; nil before the first entry.
    private(set) var created: UInt64?

    /// - Parameters:
    ///   - settings: The texts of the settings with these ``names``, and of the ``limitNames``.
    ///   - start: The revision before the first one.
    ///   - level: The rules that the replica knows.
    ///   - etcd: The cluster ID of the etcd that has the agreement, if that is known.
    package init(
        settings: [String: String],
        start: Revision,
        rules level: RuleLevel,
        etcd: UInt64?
    ) {
        format = Int(level.rawValue)
        rules = level == .first ? nil : format
        self.settings = settings
        self.start = start
        guard let etcd, level >= .second else { return }
        (self.etcd, life) = (etcd.hexadecimal, 1)
    }

    /// Nil if the bytes are not those of an agreement.
    init?(decoding bytes: [UInt8]) {
        guard let agreement = try? JSONDecoder().decode(Self.self, from: Data(bytes)),
            InputCheck.revision(agreement.start) != nil,
            agreement.etcd == nil || agreement.log != nil
        else { return nil }
        self = agreement
    }

    /// The log that it belongs to; nil if that is not known.
    var log: LogIdentity? {
        etcd.flatMap { UInt64($0, radix: 16) }.map { LogIdentity(etcd: $0, created: created) }
    }

    /// The same, completed with what it lacks of the log; but as 0.1 writes it until the rules are
    /// raised.
    func completed(by log: LogIdentity) -> Self {
        guard needs(.second), self.log == nil || self.log?.etcd == log.etcd else { return self }
        var agreement = self
        agreement.etcd = log.etcd.hexadecimal
        agreement.life = life ?? 1
        agreement.created = created ?? log.created
        return agreement
    }

    /// The same for an etcd that goes on from a backup: the log's key is as old as before.
    func adopted(by etcd: UInt64) -> Self {
        var agreement = self
        agreement.etcd = etcd.hexadecimal
        agreement.life = (life ?? 1) + 1
        return agreement
    }

    /// The rules that the log begins with.
    var firstRules: RuleLevel { RuleLevel(atMost: UInt8(clamping: rules ?? 1)) }

    /// Whether only replicas that know these rules can join.
    func needs(_ rules: RuleLevel) -> Bool { format >= Int(rules.rawValue) }

    /// The same for a log whose rules will be raised to these.
    func raised(to rules: RuleLevel) -> Self {
        var agreement = self
        agreement.format = Int(rules.rawValue)
        return agreement
    }

    var encoded: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let json = try? encoder.encode(self) else {
            preconditionFailure("Numbers and texts can be written as JSON.")
        }
        return Array(json)
    }

    /// Why a replica with these settings cannot join, in a sentence; nil if it can.
    func objection(to own: Self) -> String? {
        guard (1...own.format).contains(format) else {
            return
                "The cluster has format \(format) of its settings, and this program \(own.format)."
        }
        let differing = Set(settings.keys).union(own.settings.keys).sorted()
            .filter { settings[$0] != own.settings[$0] }
        guard let name = differing.first else { return nil }
        let all =
            differing.count == 1
            ? ""
            : " Others that differ: "
                + differing.dropFirst().map(Self.spelling).joined(separator: ", ") + "."
        let isLimit = Self.limitNames.contains(name)
        let here = own.settings[name] ?? "not known"
        return
            "All replicas need the same \(Self.spelling(name)): it is "
            + "\(settings[name] ?? "not known") in the cluster, and \(here) here"
            + (isLimit
                ? ", where no flag sets it. docs/cluster.md says how to change the cluster's."
                : ".") + all
    }

    /// A flag, or the name of a limit.
    private static func spelling(_ name: String) -> String {
        limitNames.contains(name) ? name : "--\(name)"
    }
}
