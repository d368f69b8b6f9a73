package import LatchkeyStore

/// An entry that one replica adds to the log: the changes of its waiting clients.
///
/// | Part | Bytes |
/// |---|---|
/// | format | 1: the ``RuleLevel`` that the entry is decided by |
/// | writer: its incarnation | 8 |
/// | sequence number of the writer | varint |
/// | clock of the writer, milliseconds since 1970 | varint |
/// | flags | 1: bit 0 asks for a mark after this entry, 1 raises the rules, 2 begins a life |
/// | earlier mark: place, revision, hash | varint, varint, 8; place 0 for none |
/// | revision after which the life begins | varint; nothing without bit 2 |
/// | changes | number as varint; each: author, key, fingerprint, then change |
/// | author | length as varint, bytes; empty for none |
/// | key | length as varint, bytes; empty if the request has none |
/// | fingerprint | length as varint, bytes; nothing without a key |
/// | change | see ``Change`` |
///
/// Numbers of 8 bytes have the low byte first.
///
/// An upgrade goes replica by replica, so a later version of the program executes entries by the
/// earlier rules, too. Each replica says in its record of ``ClusterDirectory`` the latest rules
/// that it knows. Once all replicas of the last hour know later ones, an entry of their format
/// raises the rules: it and all entries after it are decided by them. A replica that was away for
/// longer finds an entry that it cannot read: it stops, and says so.
///
/// After that entry, no replica executes one of an earlier format. Its writer sends the changes
/// again, if it knows the rules.
///
/// A *life* begins where etcd can have been restored from a backup: entries after the backup are
/// lost, but clients know their revisions. All replicas go on after a revision that is above all of
/// these (``Revision/laterLife(of:at:)``), so no revision is used twice. The first rules have no
/// lives.
package struct LogEntry: Sendable {
    /// A change, its author, and the identity of its request.
    package struct Proposal: Sendable {
        package let author: [UInt8]
        package let identity: RequestIdentity?
        package let change: Change
    }

    /// A state that all replicas have after an entry.
    package struct Mark: Sendable, Equatable {
        package let place: LogPlace
        package let revision: Revision
        package let hash: UInt64

        package init(place: LogPlace, revision: Revision, hash: UInt64) {
            self.place = place
            self.revision = revision
            self.hash = hash
        }
    }

    /// The latest time of an entry: sums with times to live, and clocks set to it, do not overflow.
    static let millisecondsMax = InputCheck.millisecondsMax

    /// The part of an entry before the changes.
    package struct Head: Sendable, Equatable {
        /// The rules that the entry is decided by, if they are those of its place.
        package var rules = RuleLevel.first
        /// Whether it raises the rules: its rules decide it and all entries after it, and none
        /// before it.
        package var raisesRules = false
        package let writer: UInt64
        package var sequence: UInt64
        package let time: Timestamp
        package let asksForMark: Bool
        package let earlier: Mark?
        /// The revision after which all replicas go on, if it is above theirs.
        package var life: Revision?
    }

    package let head: Head
    /// Empty for an entry that is not executed.
    package let proposals: [Proposal]

    /// Why bytes are not an entry.
    package enum Failure: Error, Equatable {
        /// A later version of the program has written it.
        case format(UInt8)
        case damaged
    }

    /// Reads an entry; its changes keep the memory of the bytes.
    ///
    /// - Parameters:
    ///   - bytes: Those of the log.
    ///   - rules: Those of its place. An entry of earlier rules is not executed, so its changes are
    ///     not read: they need not obey the rules.
    ///   - known: The latest known rules; an entry of later ones is not read.
    /// - Throws: If it is damaged, or of later rules.
    package init(
        decoding bytes: [UInt8],
        behind rules: RuleLevel = .first,
        known: RuleLevel = .current
    ) throws(Failure) {
        guard let format = bytes.first else { throw .damaged }
        guard let own = RuleLevel(rawValue: format), own <= known else { throw .format(format) }
        var reader = BinaryReader(OwnedBytes(bytes))
        do throws(InvalidChange) {
            try self.init(decoding: &reader, own, isExecuted: own >= rules)
        } catch {
            throw .damaged
        }
    }

    private init(
        decoding reader: inout BinaryReader,
        _ rules: RuleLevel,
        isExecuted: Bool
    ) throws(InvalidChange) {
        _ = try reader.byte()
        let (writer, sequence) = (try reader.eightBytes(), try reader.number())
        let time = Timestamp(milliseconds: try reader.milliseconds())
        let flags = try reader.byte()
        let place = LogPlace(try reader.number())
        let revision = try reader.number()
        let mark = Mark(place: place, revision: revision, hash: try reader.eightBytes())
        // A replica of 0.1 looks at the first bit only.
        let flagsKnown = rules > .first ? flags : flags & 1
        let life = flagsKnown & 4 == 0 ? nil : try reader.revision()
        head = Head(
            rules: rules,
            raisesRules: flagsKnown & 2 != 0,
            writer: writer,
            sequence: sequence,
            time: time,
            asksForMark: flags & 1 != 0,
            earlier: place == .start ? nil : mark,
            life: life
        )
        guard isExecuted else {
            proposals = []
            return
        }
        let count = try reader.count()
        guard count <= LogEntryWriter.changeCountMax else { throw InvalidChange() }
        var proposals: [Proposal] = []
        proposals.reserveCapacity(count)
        for _ in 0..<count {
            let author = try reader.author()
            let identity = try reader.identity()
            let change = try Change(decoding: &reader, rules: rules)
            proposals.append(Proposal(author: author, identity: identity, change: change))
        }
        guard reader.isAtEnd else { throw InvalidChange() }
        self.proposals = proposals
    }
}

/// Makes entries of changes.
struct LogEntryWriter: Sendable {
    /// How many changes an entry has at most.
    static let changeCountMax = 4096
    /// The longest part before the changes.
    static let headByteCountMax = 1 + 8 + 10 + 10 + 1 + 10 + 10 + 8 + 10 + 3

    private var changes = BinaryWriter()
    private var count = 0

    init(_ changes: some Sequence<[UInt8]> = EmptyCollection()) {
        for change in changes { add(change) }
    }

    /// The form of a change in an entry.
    static func encoded(
        _ change: Change,
        author: [UInt8],
        identity: RequestIdentity? = nil
    ) -> [UInt8] {
        var writer = BinaryWriter()
        writer.add(author)
        writer.add(identity?.key ?? [])
        if let identity { writer.add(identity.fingerprint) }
        change.encode(to: &writer)
        return writer.bytes
    }

    mutating func add(_ encoded: [UInt8]) {
        changes.bytes += encoded
        count += 1
    }

    /// The entry.
    func bytes(_ head: LogEntry.Head) -> [UInt8] {
        var entry = BinaryWriter()
        entry.bytes.reserveCapacity(Self.headByteCountMax + changes.bytes.count)
        entry.bytes.append(head.rules.rawValue)
        entry.add(eightBytes: head.writer)
        entry.add(head.sequence)
        // It must be able to read its own entries, whatever its clock shows.
        entry.add(UInt64(min(max(0, head.time.milliseconds), LogEntry.millisecondsMax)))
        let flags: [UInt8] = [
            head.asksForMark ? 1 : 0, head.raisesRules ? 2 : 0, head.life == nil ? 0 : 4,
        ]
        entry.bytes.append(flags.reduce(0, |))
        entry.add(head.earlier?.place.number ?? 0)
        entry.add(head.earlier?.revision ?? 0)
        entry.add(eightBytes: head.earlier?.hash ?? 0)
        if let life = head.life { entry.add(life) }
        entry.add(UInt64(count))
        entry.bytes += changes.bytes
        return entry.bytes
    }
}

extension BinaryWriter {
    fileprivate mutating func add(eightBytes number: UInt64) {
        for shift in stride(from: 0, to: 64, by: 8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }
}

extension BinaryReader {
    fileprivate mutating func eightBytes() throws(InvalidChange) -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
            number |= UInt64(try byte()) << shift
        }
        return number
    }

    /// The name of a token, or empty: files have it as text.
    fileprivate mutating func author() throws(InvalidChange) -> [UInt8] {
        let author = unsafe try bytes()
        guard unsafe author.isEmpty || InputCheck.name(author) != nil else { throw InvalidChange() }
        return unsafe Array(author)
    }

    fileprivate mutating func identity() throws(InvalidChange) -> RequestIdentity? {
        let key = unsafe Array(try bytes())
        guard !key.isEmpty else { return nil }
        let identity = RequestIdentity(key: key, fingerprint: unsafe Array(try bytes()))
        guard identity.isPossible else { throw InvalidChange() }
        return identity
    }

    fileprivate mutating func revision() throws(InvalidChange) -> Revision {
        guard let revision = InputCheck.revision(try number()) else { throw InvalidChange() }
        return revision
    }

    fileprivate mutating func milliseconds() throws(InvalidChange) -> Int64 {
        guard let time = InputCheck.time(try number()) else { throw InvalidChange() }
        return time.milliseconds
    }
}
