internal import LatchkeyReplication

// Messages of a replica about etcd.

extension EtcdReport {
    /// The message if members of another etcd answer; nil if the known one does.
    var onlyHeard: String? {
        switch membership {
        case .known: nil
        case .strangers(let sentence), .onlyStrangers(let sentence): sentence
        }
    }

    /// The message about failed calls; empty if none has failed.
    var sentences: String {
        let uses = Dictionary(grouping: troubles.keys) { troubles[$0] ?? "" }
        return uses.sorted { $0.key < $1.key }
            .map { reason, uses in
                let names = uses.map(\.rawValue).sorted().joined(separator: ", ")
                return " etcd has failed for \(names): \(Self.sentence(reason))"
            }
            .joined()
    }

    /// A reason with a full stop.
    static func sentence(_ reason: String) -> String {
        reason.last.map { ".?!".contains($0) } == true ? reason : reason + "."
    }
}

/// The log lines about failing etcd calls: one for each change of the reason.
///
/// A recurring reason is logged once until the calls have succeeded for some time: reasons that
/// change many times a second must not fill the log.
struct EtcdTroubleLog: Sendable {
    struct Line: Equatable {
        let use: EtcdClient.Use
        /// Nil if the calls succeed again.
        let reason: String?
    }

    /// How many looks in a row must find no failure.
    static let calmLooks = 100
    /// How many reasons are logged for each use, at most.
    private static let reasonCountMax = 16

    private struct Told: Sendable {
        var reasons: Set<String>
        var calmCount = 0
    }

    private var told: [EtcdClient.Use: Told] = [:]

    /// The new log lines; called many times a second.
    mutating func lines(_ troubles: [EtcdClient.Use: String]) -> [Line] {
        EtcdClient.Use.allCases.compactMap { use in
            guard let reason = troubles[use] else { return calm(use) }
            var now = told[use] ?? Told(reasons: [])
            now.calmCount = 0
            let isNew =
                now.reasons.count < Self.reasonCountMax && now.reasons.insert(reason).inserted
            told[use] = now
            return isNew ? Line(use: use, reason: reason) : nil
        }
    }

    private mutating func calm(_ use: EtcdClient.Use) -> Line? {
        guard told[use] != nil else { return nil }
        told[use]?.calmCount += 1
        guard let count = told[use]?.calmCount, count >= Self.calmLooks else { return nil }
        told[use] = nil
        return Line(use: use, reason: nil)
    }
}
