internal import LatchkeyStore

/// A request that was decided, as it is stored.
///
/// A note has a byte for the version, 1, and records:
///
/// | Part | Bytes |
/// |---|---|
/// | key, fingerprint | length as varint, bytes |
/// | time of the entry, milliseconds | varint |
/// | answer | 1 if it is kept; then length as varint, bytes: see ``KeptDecision`` |
struct IdentityRecord: Sendable {
    /// No JSON text begins with it, as other notes do.
    static let version: UInt8 = 1

    let identity: RequestIdentity
    let time: Timestamp
    /// Nil if it was too long.
    let answer: KeptDecision?

    init(identity: RequestIdentity, time: Timestamp, answer: KeptDecision?) {
        self.identity = identity
        self.time = time
        self.answer = answer
    }

    var encoded: [UInt8] {
        var writer = BinaryWriter()
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

    /// The records of a note; nil if it is damaged, or of a later version.
    static func records(_ note: [UInt8]) -> [Self]? {
        var reader = BinaryReader(OwnedBytes(note))
        do throws(InvalidChange) {
            guard try reader.byte() == version else { return nil }
            var records: [Self] = []
            while !reader.isAtEnd { records.append(try Self(decoding: &reader)) }
            return records
        } catch {
            return nil
        }
    }

    private init(decoding reader: inout BinaryReader) throws(InvalidChange) {
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

extension BinaryWriter {
    /// Appends bytes behind their length.
    mutating func add(_ content: [UInt8]) {
        unsafe content.withUnsafeBytes { unsafe add($0) }
    }
}
