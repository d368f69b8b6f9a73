package import LatchkeyStore

/// How far a replica has executed the log, and what it needs to go on.
package struct LogPosition: Sendable, Equatable {
    /// How many writers are remembered; the one whose last entry is oldest is forgotten first.
    ///
    /// A writer is a process, and an entry of a process that is gone comes again at most seconds
    /// later.
    static let writerCountMax = 256

    /// The last entry that was executed.
    package var place: LogPlace
    /// The store's revision after it.
    package var revision: Revision
    /// The latest time of an entry: later entries count as of this time at least.
    package var time: Timestamp
    /// The rules of the next entry, unless it raises them.
    package var rules: RuleLevel
    /// The log of the place; nil if that is not known, as in a position of 0.1.
    package var log: LogIdentity?
    /// The keys of an ``IdentityTable`` that are in no note of a commit.
    ///
    /// Only in a stored position.
    package var unstoredKeys: [UInt8] = []
    /// The last entry of each writer, in the order in which these came.
    package private(set) var writers: [Writer] = []

    package struct Writer: Sendable, Equatable {
        package let incarnation: UInt64
        package var sequence: UInt64
    }

    package init(
        place: LogPlace = .start,
        revision: Revision = 0,
        time: Timestamp = Timestamp(milliseconds: 0),
        rules: RuleLevel = .first
    ) {
        self.place = place
        self.revision = revision
        self.time = time
        self.rules = rules
    }

    /// Whether an entry of a writer was executed.
    func has(writer: UInt64, sequence: UInt64) -> Bool {
        writers.contains { $0.incarnation == writer && sequence <= $0.sequence }
    }

    /// Notes an entry of a writer.
    ///
    /// - Returns: False if it was executed before: it was sent again.
    mutating func enters(writer: UInt64, sequence: UInt64) -> Bool {
        guard let index = writers.lastIndex(where: { $0.incarnation == writer }) else {
            if writers.count == Self.writerCountMax { writers.removeFirst() }
            writers.append(Writer(incarnation: writer, sequence: sequence))
            return true
        }
        guard sequence > writers[index].sequence else { return false }
        var found = writers.remove(at: index)
        found.sequence = sequence
        writers.append(found)
        return true
    }
}

extension LogPosition {
    /// The position in its binary form, which begins with its rules.
    ///
    /// With the first ones it is what 0.1 writes and reads: until the rules are raised, a replica
    /// of 0.1 can take the state of a later one.
    package var encoded: [UInt8] {
        var writer = BinaryWriter()
        writer.bytes.append(rules.rawValue)
        writer.add(place.number)
        writer.add(revision)
        writer.add(UInt64(max(0, time.milliseconds)))
        writer.add(UInt64(writers.count))
        for known in writers {
            writer.add(known.incarnation)
            writer.add(known.sequence)
        }
        writer.add(unstoredKeys)
        // 0.1 does not read it.
        if let log, rules > .first {
            writer.add(log.etcd)
            writer.add(log.created ?? 0)
        }
        return writer.bytes
    }

    /// Nil if the bytes are not a position, or one of later rules than this program knows.
    package init?(decoding bytes: [UInt8]) {
        var reader = BinaryReader(OwnedBytes(bytes))
        do throws(InvalidChange) {
            guard let rules = RuleLevel(rawValue: try reader.byte()),
                let place = LogPlace(checking: try reader.number()),
                let revision = InputCheck.revision(try reader.number()),
                let time = InputCheck.time(try reader.number())
            else { return nil }
            (self.rules, self.place, self.revision, self.time) = (rules, place, revision, time)
            let count = try reader.count()
            guard count <= Self.writerCountMax else { return nil }
            for _ in 0..<count {
                let incarnation = try reader.number()
                writers.append(Writer(incarnation: incarnation, sequence: try reader.number()))
            }
            unstoredKeys = unsafe Array(try reader.bytes())
            guard !reader.isAtEnd else { return }
            let etcd = try reader.number()
            guard rules > .first, let created = LogPlace(checking: try reader.number()),
                reader.isAtEnd
            else { return nil }
            log = LogIdentity(etcd: etcd, created: created == .start ? nil : created.number)
        } catch {
            return nil
        }
    }
}
