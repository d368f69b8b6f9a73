internal import LatchkeyReplication

// What a replica says of etcd.

extension EtcdReport {
    /// What is to be said where members of another etcd answer; nil if the known one does.
    var onlyHeard: String? {
        switch membership {
        case .known: nil
        case .strangers(let sentence), .onlyStrangers(let sentence): sentence
        }
    }

    /// What is to be said of calls that have failed, in sentences; empty if none has.
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

/// What is written to the log about calls of etcd that fail: a line for each change of the reason.
///
/// A reason that comes again and again is said once until the calls have gone well for some time:
/// what changes many times a second must not fill the log.
struct EtcdTroubleLog: Sendable {
    struct Line: Equatable {
        let use: EtcdClient.Use
        /// Nil if the calls go well again.
        let reason: String?
    }

    /// How long the calls must go well, in looks.
    static let calmLooks = 100
    /// How many reasons are told for each use, at most.
    private static let reasonCountMax = 16

    private struct Told: Sendable {
        var reasons: Set<String>
        var calmCount = 0
    }

    private var told: [EtcdClient.Use: Told] = [:]

    /// What is to be said now, of what is looked at many times a second.
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
