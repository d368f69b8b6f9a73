internal import LatchkeyJSON

/// The compact binary form of a change, for a journal or a log that replicas share.
///
/// | Part | Bytes |
/// |---|---|
/// | version | 1, the number 3 |
/// | kind | 1: one step 0, transaction 1, transaction that waits 2 |
/// | of a transaction: conditions | number as varint; for each one: test, name, operand |
/// | of a transaction: steps of both branches | number as varint, steps; twice |
/// | test | 1: `revision` 0, `exists` 1, `equals` 2, the relations of ``JSONOrder`` from 3 on |
/// | operand | revision as varint; 0 or 1; value; value |
/// | step: action | 1: `get` 0, `put` 1, `delete` 2, `increment` 3, `merge` 4 |
/// | | or `expire` 5, `evict` 6, `touch` 7, `pop` 8, deletion of a prefix 9, `count` 10 |
/// | conditions | 1: `If-Match` in bits 0 and 1, `If-None-Match` from bit 2 |
/// | name, value | length as varint, bytes |
/// | time to live | varint, 0 for none |
/// | whether it is for new properties only | 1: 0 or 1 |
/// | each list | number as varint, revisions as varints |
/// | value of a put, patch of a merge | length as varint, bytes |
/// | addend of an increment | varint, zigzag |
/// | claim of a pop | 1: 0 for none or 1; prefix and value, each its length as varint, bytes |
/// | limit of a deletion | number as varint; 1 if it must be whole, else 0 |
///
/// Conditions are 0 for none, 1 for any, 2 for a list of revisions.
///
/// A varint has seven bits of the number in each byte, the low ones first, and the eighth bit set
/// in all but the last byte.
extension Change {
    /// The maximum of a transaction's conditions, and of the steps of each branch.
    package static let stepCountMax = 128

    /// The maximum of steps of a binary form: an import commits more than a client's transaction.
    private static let encodedCountMax: UInt64 = 1000

    private static let version: UInt8 = 3

    /// The change in its binary form.
    package func encoded() -> [UInt8] {
        var writer = BinaryWriter()
        encode(to: &writer)
        return writer.bytes
    }

    /// Writes the binary form.
    package func encode(to writer: inout BinaryWriter) {
        writer.bytes.append(Self.version)
        switch self {
        case .step(let step):
            writer.bytes.append(0)
            step.encode(to: &writer)
        case .transaction(let transaction):
            writer.bytes.append(transaction.waits ? 2 : 1)
            writer.add(UInt64(transaction.conditions.count))
            for condition in transaction.conditions {
                condition.encode(to: &writer)
            }
            for steps in [transaction.steps, transaction.otherwise] {
                writer.add(UInt64(steps.count))
                for step in steps {
                    step.encode(to: &writer)
                }
            }
        }
    }

    /// Reads a change from its binary form.
    ///
    /// It owns its memory.
    ///
    /// - Throws: Also if no client can ask for it: bytes that are not JSON, a lone step that is
    ///   valid only in a transaction, a time to live above the maximum. See ``InputCheck``.
    package init(decoding bytes: [UInt8]) throws(InvalidChange) {
        var reader = BinaryReader(OwnedBytes(bytes))
        try self.init(decoding: &reader)
        guard reader.isAtEnd else {
            throw InvalidChange()
        }
    }

    /// Reads a change from a part of other bytes, whose memory it keeps.
    ///
    /// By the first rules, an expiry is of one property.
    package init(
        decoding reader: inout BinaryReader,
        rules: RuleLevel = .current
    ) throws(InvalidChange) {
        guard try reader.byte() == Self.version else {
            throw InvalidChange()
        }
        let kind = try reader.byte()
        switch kind {
        case 0:
            self = .step(try Step(decoding: &reader))
        case 1, 2:
            var transaction = Transaction(
                if: try Self.list(&reader) { (reader) throws(InvalidChange) in
                    try Transaction.Condition(decoding: &reader)
                },
                try Self.list(&reader) { (reader) throws(InvalidChange) in
                    try Step(decoding: &reader)
                },
                else: try Self.list(&reader) { (reader) throws(InvalidChange) in
                    try Step(decoding: &reader)
                }
            )
            transaction.waits = kind == 2
            guard rules >= .second || !transaction.isExpiry else {
                throw InvalidChange()
            }
            self = .transaction(transaction)
        default:
            throw InvalidChange()
        }
        guard isPossible else {
            throw InvalidChange()
        }
    }

    private static func list<Element>(
        _ reader: inout BinaryReader,
        _ element: (inout BinaryReader) throws(InvalidChange) -> Element
    ) throws(InvalidChange) -> [Element] {
        let count = try reader.number()
        guard count <= encodedCountMax else {
            throw InvalidChange()
        }
        var list: [Element] = []
        for _ in 0..<count {
            list.append(try element(&reader))
        }
        return list
    }
}

/// Bytes that are not the binary form of a change.
package struct InvalidChange: Error, Hashable {
    package init() {}
}

extension Transaction.Condition {
    fileprivate func encode(to writer: inout BinaryWriter) {
        switch test {
        case .revision(let revision):
            writer.bytes.append(0)
            unsafe writer.add(name.bytes)
            writer.add(revision)
        case .exists(let exists):
            writer.bytes.append(1)
            unsafe writer.add(name.bytes)
            writer.bytes.append(exists ? 1 : 0)
        case .equals(let value):
            writer.bytes.append(2)
            unsafe writer.add(name.bytes)
            unsafe writer.add(value)
        case .compares(let relation, let value):
            writer.bytes.append(Self.firstRelation + relation.rawValue)
            unsafe writer.add(name.bytes)
            unsafe writer.add(value)
        }
    }

    private static let firstRelation: UInt8 = 3

    fileprivate init(decoding reader: inout BinaryReader) throws(InvalidChange) {
        let code = try reader.byte()
        let name = try reader.name()
        switch code {
        case 0:
            self.init(name, .revision(try reader.number()))
        case 1:
            self.init(name, .exists(try reader.flag()))
        case 2:
            self.init(name, unsafe .equals(try reader.bytes()))
        default:
            guard let relation = JSONOrder.Relation(rawValue: code &- Self.firstRelation) else {
                throw InvalidChange()
            }
            self.init(name, unsafe .compares(relation, try reader.bytes()))
        }
    }
}

extension Change.Step {
    fileprivate func encode(to writer: inout BinaryWriter) {
        let code: UInt8 =
            switch action {
            case .get: 0
            case .put: 1
            case .delete: 2
            case .increment: 3
            case .merge: 4
            case .expire: 5
            case .evict: 6
            case .touch: 7
            case .pop: 8
            case .deletePrefix: 9
            case .count: 10
            }
        writer.bytes.append(code)
        writer.bytes.append(
            Conditions.code(conditions.ifMatch) | Conditions.code(conditions.ifNoneMatch) << 2
        )
        unsafe writer.add(name.bytes)
        writer.add(UInt64(ttl ?? 0))
        writer.bytes.append(isOnlyIfNew ? 1 : 0)
        for case .oneOf(let revisions) in [conditions.ifMatch, conditions.ifNoneMatch] {
            writer.add(UInt64(revisions.count))
            for revision in revisions {
                writer.add(revision)
            }
        }
        switch action {
        case .put(let value), .merge(let value):
            unsafe writer.add(value)
        case .increment(let step):
            writer.add(UInt64(bitPattern: (step << 1) ^ (step >> 63)))
        case .pop(let claim):
            writer.bytes.append(claim == nil ? 0 : 1)
            if let claim {
                unsafe writer.add(claim.prefix.bytes)
                unsafe writer.add(claim.value.bytes)
            }
        case .deletePrefix(let countMax, let isWhole):
            writer.add(UInt64(countMax))
            writer.bytes.append(isWhole ? 1 : 0)
        case .get, .delete, .expire, .evict, .touch, .count:
            break
        }
    }

    fileprivate init(decoding reader: inout BinaryReader) throws(InvalidChange) {
        let code = try reader.byte()
        let conditionCodes = try reader.byte()
        let name = try reader.name()
        let ttl = try reader.number()
        guard let ttl = TimeToLive(exactly: ttl), ttl <= TimeToLiveText.millisecondsMax else {
            throw InvalidChange()
        }
        let isOnlyIfNew = try reader.flag()
        let conditions = Conditions(
            ifMatch: try reader.tags(conditionCodes & 3),
            ifNoneMatch: try reader.tags(conditionCodes >> 2)
        )
        let action: Change.Action
        switch code {
        case 0: action = .get
        case 1: action = unsafe .put(try reader.bytes())
        case 2: action = .delete
        case 3:
            let number = try reader.number()
            action = .increment(
                by: Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
            )
        case 4: action = unsafe .merge(try reader.bytes())
        case 5: action = .expire
        case 6: action = .evict
        case 7: action = .touch
        case 8: action = .pop(try reader.claim())
        case 9: action = .deletePrefix(countMax: try reader.count(), isWhole: try reader.flag())
        case 10: action = .count
        default:
            throw InvalidChange()
        }
        self.init(
            name,
            action,
            ttl: ttl == 0 ? nil : ttl,
            isOnlyIfNew: isOnlyIfNew,
            conditions
        )
    }
}

extension Conditions {
    fileprivate static func code(_ tags: Tags?) -> UInt8 {
        switch tags {
        case nil: 0
        case .any: 1
        case .oneOf: 2
        }
    }
}

extension BinaryReader {
    fileprivate mutating func claim() throws(InvalidChange) -> Change.Claim? {
        guard try flag() else {
            return nil
        }
        let prefix = try name()
        return unsafe Change.Claim(prefix, value: try bytes())
    }

    fileprivate mutating func name() throws(InvalidChange) -> PropertyName {
        guard let name = unsafe InputCheck.name(try bytes(), owner: owner) else {
            throw InvalidChange()
        }
        return name
    }

    fileprivate mutating func tags(_ code: UInt8) throws(InvalidChange) -> Conditions.Tags? {
        switch code {
        case 0:
            return nil
        case 1:
            return .any
        case 2:
            var revisions: [Revision] = []
            for _ in 0..<(try number()) {
                revisions.append(try number())
            }
            return .oneOf(revisions)
        default:
            throw InvalidChange()
        }
    }
}
