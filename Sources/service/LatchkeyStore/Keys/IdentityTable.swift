/// The requests that were decided lately, and their first decisions.
///
/// No key is dropped before its time: at a limit, new keys are refused. Room for a short answer is
/// asked for before a change is made. A longer one that has no room is not kept, but its key is.
///
/// **In a cluster** all replicas have the same table. Its content decides whether a change is made.
/// So it follows from the log alone: the time is that of the entries, the limits are those of the
/// cluster, and a restart restores exactly the same content. For that, each decision is stored:
/// that of a commit in its note, and one without effect in the note of the next commit, or, until
/// there is one, beside the position in the log.
///
/// **In one service** it has the decisions of that service. Its user counts the room that each
/// client takes, and asks for it. Only the notes of commits are stored.
package struct IdentityTable: Sendable {
    package struct Limits: Sendable {
        package var lifetimeMilliseconds: Int64
        package var keyCountMax: Int
        package var byteCountMax: Int
        /// Whether replicas decide by the table, and must have the same one.
        package var isReplicated: Bool

        package init(
            lifetimeMilliseconds: Int64,
            keyCountMax: Int,
            byteCountMax: Int,
            isReplicated: Bool = true
        ) {
            self.lifetimeMilliseconds = lifetimeMilliseconds
            self.keyCountMax = keyCountMax
            self.byteCountMax = byteCountMax
            self.isReplicated = isReplicated
        }
    }

    /// Longer answers are not stored, and not kept in a cluster.
    package static let answerByteCountMax = 64 * 1024
    /// The room for an answer that each new key needs.
    package static let shortByteCount = 1024
    /// The memory that a key takes beside its bytes and its answer.
    package static let entryByteCount = 320
    /// The maximum bytes of decisions without effect that wait for a commit.
    ///
    /// Beyond that they are not kept: nothing was done, so a repeat may run.
    static let pendingByteCountMax = 64 * 1024

    /// A request that was decided.
    package struct Entry: Sendable {
        package let fingerprint: [UInt8]
        /// Nil if it was too long.
        package let answer: KeptDecision?
        /// The sender of the request, if one service keeps it.
        package let owner: KeyOwner?
        fileprivate let digest: UInt64
        fileprivate let end: Int64
    }

    private let limits: Limits
    private var entries: [[UInt8]: Entry] = [:]
    /// In the order of their times.
    private var expiring = RingBuffer<(key: [UInt8], end: Int64)>()
    /// Decisions without effect that no commit has stored yet.
    private var pending = RingBuffer<(bytes: [UInt8], end: Int64)>()
    private var pendingByteCount = 0
    package private(set) var byteCount = 0
    /// A hash of all entries, in no order: replicas compare it.
    package private(set) var digest: UInt64 = 0
    /// The bytes of answers beyond the room that each one has.
    private var longByteCount = 0

    package init(_ limits: Limits) {
        self.limits = limits
    }

    package var count: Int { entries.count }

    // MARK: Deciding

    /// The first decision for a repeat, or a refusal if there is no room; nil if it is to run.
    package mutating func decision(
        of identity: RequestIdentity,
        _ change: Change,
        at time: Timestamp
    ) -> Decision? {
        expire(at: time)
        guard let entry = entries[identity.key] else {
            let isFull =
                entries.count >= limits.keyCountMax
                || byteCount + Self.byteCount(identity.key) + Self.shortByteCount
                    > limits.byteCountMax
            return isFull ? .failure(.tooManyIdentities) : nil
        }
        return entry.decision(of: identity, change)
    }

    /// The entry of a key; nil if it has expired, or was not there.
    package func entry(_ key: [UInt8], at time: Timestamp) -> Entry? {
        entries[key].flatMap { $0.end > time.milliseconds ? $0 : nil }
    }

    /// The note to store with the commit of a change; nil for none.
    package func note(
        for commit: Commit,
        of identity: RequestIdentity?,
        _ change: Change,
        at time: Timestamp
    ) -> [UInt8]? {
        let record = record(.success(commit), of: identity, change, at: time)
        guard record != nil || pending.count > 0 else { return nil }
        return note(adding: record?.encoded ?? [])
    }

    /// Keeps the decision of a change that has run, if it is one to keep.
    package mutating func keep(
        _ decision: Decision,
        of identity: RequestIdentity?,
        _ change: Change,
        at time: Timestamp
    ) {
        let record = record(decision, of: identity, change, at: time)
        if decision.hasEffect {
            // The pending ones are in the note of the commit.
            pending = RingBuffer()
            pendingByteCount = 0
            if let record { add(record) }
        } else if let record, record.answer != nil {
            let bytes = record.encoded
            guard pendingByteCount + bytes.count <= Self.pendingByteCountMax else { return }
            pend(bytes, at: time)
            add(record)
        }
    }

    private func record(
        _ decision: Decision,
        of identity: RequestIdentity?,
        _ change: Change,
        at time: Timestamp
    ) -> IdentityRecord? {
        guard let identity, let answer = KeptDecision(decision, of: change) else { return nil }
        return IdentityRecord(
            identity: identity,
            time: time,
            answer: hasRoom(answer.bytes.count, identity.key) ? answer : nil
        )
    }

    /// Long answers take at most half of the bytes, so that they keep out no new keys.
    private func hasRoom(_ answerByteCount: Int, _ key: [UInt8]) -> Bool {
        let long = answerByteCount - Self.shortByteCount
        guard long > 0 else { return true }
        return answerByteCount <= Self.answerByteCountMax
            && byteCount + Self.byteCount(key) + answerByteCount <= limits.byteCountMax
            && longByteCount + long <= limits.byteCountMax / 2
    }

    private static func byteCount(_ key: [UInt8]) -> Int { entryByteCount + key.count }

    // MARK: Entries

    /// Adds a decided request, whose key is not there, after those with earlier times.
    package mutating func add(_ record: IdentityRecord) {
        let end = record.time.milliseconds + limits.lifetimeMilliseconds
        let key = record.identity.key
        let entry = Entry(
            fingerprint: record.identity.fingerprint,
            answer: record.answer,
            owner: record.owner,
            digest: limits.isReplicated ? record.digest : 0,
            end: end
        )
        count(entry, key, 1)
        digest &+= entry.digest
        entries[key] = entry
        expiring.append((key, end))
    }

    private mutating func count(_ entry: Entry, _ key: [UInt8], _ sign: Int) {
        byteCount += sign * (Self.byteCount(key) + entry.answerByteCount)
        longByteCount += sign * max(0, entry.answerByteCount - Self.shortByteCount)
    }

    /// Drops a key that has expired.
    ///
    /// - Returns: Its entry; nil if it is not there or has not expired.
    package mutating func drop(_ key: [UInt8], ifOverAt time: Timestamp) -> Entry? {
        guard let entry = entries[key], entry.end <= time.milliseconds else { return nil }
        entries[key] = nil
        count(entry, key, -1)
        digest &-= entry.digest
        return entry
    }

    /// Drops the first key that has expired.
    ///
    /// - Returns: The key, and its entry, unless it was dropped by itself; nil if none has expired.
    package mutating func dropFirst(ifOverAt time: Timestamp) -> (key: [UInt8], entry: Entry?)? {
        guard let first = expiring.first, first.end <= time.milliseconds else { return nil }
        _ = expiring.popFirst()
        return (first.key, drop(first.key, ifOverAt: time))
    }

    private mutating func pend(_ bytes: [UInt8], at time: Timestamp) {
        pending.append((bytes, time.milliseconds + limits.lifetimeMilliseconds))
        pendingByteCount += bytes.count
    }

    /// Drops everything that has expired at a time.
    package mutating func expire(at time: Timestamp) {
        while dropFirst(ifOverAt: time) != nil {}
        while let first = pending.first, first.end <= time.milliseconds {
            _ = pending.popFirst()
            pendingByteCount -= first.bytes.count
        }
    }

    // MARK: Storing

    /// The note to store beside the position; empty for none.
    package var unstored: [UInt8] { pending.count == 0 ? [] : note(adding: []) }

    private func note(adding record: [UInt8]) -> [UInt8] {
        var bytes = [IdentityRecord.Version.replicated.rawValue]
        bytes.reserveCapacity(1 + pendingByteCount + record.count)
        for index in 0..<pending.count { bytes += pending[index].bytes }
        bytes += record
        return bytes
    }

    /// Restores a stored note, in the order in which the notes were stored.
    ///
    /// - Parameters:
    ///   - note: The note of a commit, or the one beside the position.
    ///   - isStored: Whether a commit has it.
    /// - Returns: False if it cannot be read.
    package mutating func restore(_ note: [UInt8], isStored: Bool = true) -> Bool {
        guard let records = IdentityRecord.records(note, .replicated) else { return false }
        for record in records {
            // A key can come again after its time.
            expire(at: record.time)
            if !isStored { pend(record.encoded, at: record.time) }
            add(record)
        }
        return true
    }
}

extension IdentityTable.Entry {
    package var answerByteCount: Int { answer?.bytes.count ?? 0 }

    /// The decision as a repeat of the request gets it.
    package func decision(of identity: RequestIdentity, _ change: Change) -> Decision {
        guard fingerprint == identity.fingerprint else { return .failure(.identityReused) }
        return answer?.decision(of: change) ?? .failure(.repeated(.answerNotKept))
    }
}

extension Decision {
    fileprivate var hasEffect: Bool {
        if case .success(let commit) = self { !commit.isEmpty } else { false }
    }
}
