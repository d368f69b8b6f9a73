/// A request that was decided, as it is stored.
///
/// A note has a byte for the version and records: 1 for replicas of a cluster, 2 for one service.
///
/// | Part | Bytes |
/// |---|---|
/// | owner, in version 2 | its kind: 1; its number as varint |
/// | key, fingerprint | length as varint, bytes |
/// | time of the entry, milliseconds | varint |
/// | answer | 1 if it is kept; then length as varint, bytes: see ``KeptDecision`` |
package struct IdentityRecord: Sendable {
    /// No JSON text begins with such a byte; the notes of 0.1 are JSON.
    package enum Version: UInt8, Sendable {
        case replicated = 1
        case own = 2
    }

    package let identity: RequestIdentity
    package let time: Timestamp
    /// Nil if it was too long.
    package let answer: KeptDecision?
    /// The sender of the request, if one service keeps it.
    package let owner: KeyOwner?

    package init(
        identity: RequestIdentity,
        time: Timestamp,
        answer: KeptDecision?,
        owner: KeyOwner? = nil
    ) {
        self.identity = identity
        self.time = time
        self.answer = answer
        self.owner = owner
    }

    /// The same, as if the decision were too long.
    package var withoutAnswer: Self {
        Self(identity: identity, time: time, answer: nil, owner: owner)
    }

    /// The note of a commit that has this record only.
    package var note: [UInt8] { [(owner == nil ? Version.replicated : .own).rawValue] + encoded }

    var encoded: [UInt8] {
        var writer = BinaryWriter()
        if let owner {
            writer.bytes.append(owner.kind)
            writer.add(owner.number)
        }
        writer.add(identity.key)
        writer.add(identity.fingerprint)
        writer.add(UInt64(max(0, time.milliseconds)))
        writer.bytes.append(answer == nil ? 0 : 1)
        if let answer { writer.add(answer.bytes) }
        return writer.bytes
    }

    var digest: UInt64 {
        var hash = StableHash()
        unsafe encoded.withUnsafeBytes { unsafe hash.add($0) }
        return hash.value
    }

    /// The records of a note; nil if it is damaged, or of another version.
    package static func records(_ note: [UInt8], _ version: Version) -> [Self]? {
        var reader = BinaryReader(OwnedBytes(note))
        do throws(InvalidChange) {
            guard try reader.byte() == version.rawValue else { return nil }
            var records: [Self] = []
            while !reader.isAtEnd { records.append(try Self(decoding: &reader, version)) }
            return records
        } catch {
            return nil
        }
    }

    private init(
        decoding reader: inout BinaryReader,
        _ version: Version
    ) throws(InvalidChange) {
        owner =
            version == .own
            ? KeyOwner(kind: try reader.byte(), number: try reader.number()) : nil
        let key = unsafe Array(try reader.bytes())
        identity = RequestIdentity(key: key, fingerprint: unsafe Array(try reader.bytes()))
        guard identity.isPossible, let time = InputCheck.time(try reader.number()) else {
            throw InvalidChange()
        }
        self.time = time
        guard try reader.flag() else {
            answer = nil
            return
        }
        let answer = KeptDecision(unsafe Array(try reader.bytes()))
        guard answer.decision != nil else { throw InvalidChange() }
        self.answer = answer
    }
}

/// The sender of a request with a key; only its equality is used here.
package struct KeyOwner: Sendable, Hashable {
    package let kind: UInt8
    package let number: UInt64

    package init(kind: UInt8, number: UInt64) {
        (self.kind, self.number) = (kind, number)
    }
}

extension BinaryWriter {
    /// Appends the length of the bytes, then the bytes.
    package mutating func add(_ content: [UInt8]) {
        unsafe content.withUnsafeBytes { unsafe add($0) }
    }
}
