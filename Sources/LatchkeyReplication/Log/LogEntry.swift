package import LatchkeyStore

/// What one replica adds to the log at once: the changes of its waiting clients.
///
/// | Part | Bytes |
/// |---|---|
/// | format | 1, the number 1 |
/// | writer: its incarnation | 8 |
/// | sequence number of the writer | varint |
/// | clock of the writer, milliseconds since 1970 | varint |
/// | flags | 1: bit 0 asks all replicas to take a mark behind this entry |
/// | earlier mark: place, revision, hash | varint, varint, 8; place 0 for none |
/// | changes | number as varint; each: author, key, fingerprint, then change |
/// | author | length as varint, bytes; empty for none |
/// | key | length as varint, bytes; empty if the request has none |
/// | fingerprint | length as varint, bytes; nothing without a key |
/// | change | see ``Change`` |
///
/// Numbers of 8 bytes have the low byte first.
///
/// An upgrade goes replica by replica. So a version of the program that has a later format reads
/// and writes the earlier one, too. Each replica says in its record of ``ClusterDirectory`` the
/// latest format that it reads, and writes the lowest of those that were said in the last hour; the
/// first format until it has heard of any. A replica that was away for longer can find entries that
/// it does not read: it stops, and says so.
package struct LogEntry: Sendable {
    /// A change, who has made it, and what its request is known by.
    package struct Proposal: Sendable {
        package let author: [UInt8]
        package let identity: RequestIdentity?
        package let change: Change
    }

    /// A state that all replicas have behind an entry.
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

    /// The format that all versions read.
    package static let formatMin: UInt8 = 1
    /// The latest one.
    package static let formatMax: UInt8 = 1
    /// The latest time of an entry: sums with times to live, and clocks that are set to it, fit.
    static let millisecondsMax = InputCheck.millisecondsMax

    package let writer: UInt64
    package let sequence: UInt64
    package let time: Timestamp
    package let asksForMark: Bool
    package let earlier: Mark?
    package let proposals: [Proposal]

    /// Why bytes are not an entry.
    package enum Failure: Error, Equatable {
        /// A later version of the program has written it.
        case format(UInt8)
        case damaged
    }

    /// Reads an entry, whose changes keep its memory.
    package init(
        decoding bytes: [UInt8],
        formatMax: UInt8 = Self.formatMax
    ) throws(Failure) {
        guard let format = bytes.first else { throw .damaged }
        guard (Self.formatMin...formatMax).contains(format) else { throw .format(format) }
        var reader = BinaryReader(OwnedBytes(bytes))
        do throws(InvalidChange) {
            try self.init(decoding: &reader)
        } catch {
            throw .damaged
        }
    }

    private init(decoding reader: inout BinaryReader) throws(InvalidChange) {
        _ = try reader.byte()
        writer = try reader.eightBytes()
        sequence = try reader.number()
        time = Timestamp(milliseconds: try reader.milliseconds())
        let flags = try reader.byte()
        asksForMark = flags & 1 != 0
        let place = LogPlace(try reader.number())
        let revision = try reader.number()
        let mark = Mark(place: place, revision: revision, hash: try reader.eightBytes())
        earlier = place == .start ? nil : mark
        let count = try reader.count()
        guard count <= LogEntryWriter.changeCountMax else { throw InvalidChange() }
        var proposals: [Proposal] = []
        proposals.reserveCapacity(count)
        for _ in 0..<count {
            let author = try reader.author()
            let identity = try reader.identity()
            let change = try Change(decoding: &reader)
            proposals.append(Proposal(author: author, identity: identity, change: change))
        }
        guard reader.isAtEnd else { throw InvalidChange() }
        self.proposals = proposals
    }
}

/// Makes entries: collects changes until one is full, or is sent.
struct LogEntryWriter: Sendable {
    /// How many changes an entry has at most.
    static let changeCountMax = 4096
    /// An entry that has this many bytes takes no more changes.
    static let byteCountMax = LogBounds.entryByteCountMax
    /// What stands before the changes, at most.
    static let headByteCountMax = 1 + 8 + 10 + 10 + 1 + 10 + 10 + 8 + 3

    private var changes = BinaryWriter()
    private(set) var count = 0

    var byteCount: Int { changes.bytes.count }

    var isEmpty: Bool { count == 0 }

    /// Whether a change of so many bytes fits.
    ///
    /// One fits an empty entry even if it is beyond the bound, which the log's own is above.
    func fits(_ byteCount: Int) -> Bool {
        isEmpty || count < Self.changeCountMax && self.byteCount + byteCount <= Self.byteCountMax
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
    func bytes(
        format: UInt8 = LogEntry.formatMin,
        writer: UInt64,
        sequence: UInt64,
        time: Timestamp,
        asksForMark: Bool,
        earlier: LogEntry.Mark?
    ) -> [UInt8] {
        var entry = BinaryWriter()
        entry.bytes.reserveCapacity(Self.headByteCountMax + byteCount)
        entry.bytes.append(format)
        entry.add(eightBytes: writer)
        entry.add(sequence)
        // What it writes, it reads, whatever its clock shows.
        entry.add(UInt64(min(max(0, time.milliseconds), LogEntry.millisecondsMax)))
        entry.bytes.append(asksForMark ? 1 : 0)
        entry.add(earlier?.place.number ?? 0)
        entry.add(earlier?.revision ?? 0)
        entry.add(eightBytes: earlier?.hash ?? 0)
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

    /// The name of a token, or nothing: files have it as text.
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

    fileprivate mutating func milliseconds() throws(InvalidChange) -> Int64 {
        guard let time = InputCheck.time(try number()) else { throw InvalidChange() }
        return time.milliseconds
    }
}
