internal import LatchkeyProtobuf

// The messages of etcd's API that a log needs (etcd 3.4, api/etcdserverpb/rpc.proto).

/// A key with its value, as etcd keeps it.
struct EtcdKeyValue: Equatable {
    var key: [UInt8] = []
    var value: [UInt8] = []
    /// The revision of etcd at which the key was made.
    var created: UInt64 = 0
    /// The revision of etcd at which it was changed last.
    var modified: UInt64 = 0

    init() {}

    init(_ bytes: ArraySlice<UInt8>) throws(ProtobufReader.InvalidMessage) {
        try ProtobufReader.read(bytes) { (field) throws(ProtobufReader.InvalidMessage) in
            switch field.number {
            case 1: key = Array(field.bytes)
            case 2: created = try field.revision
            case 3: modified = try field.revision
            case 5: value = Array(field.bytes)
            case _: break
            }
        }
    }
}

/// The header of each answer: the cluster that gives it, and its latest revision.
struct EtcdHeader: Equatable {
    var cluster: UInt64 = 0
    var revision: UInt64 = 0

    init() {}

    init(_ bytes: ArraySlice<UInt8>) throws(ProtobufReader.InvalidMessage) {
        try ProtobufReader.read(bytes) { (field) throws(ProtobufReader.InvalidMessage) in
            switch field.number {
            case 1: cluster = field.value
            case 3: revision = try field.revision
            case _: break
            }
        }
    }
}

extension ProtobufReader.Field {
    /// A revision of etcd, which has 63 bits.
    fileprivate var revision: UInt64 {
        get throws(ProtobufReader.InvalidMessage) {
            guard let place = LogPlace(checking: value) else {
                throw ProtobufReader.InvalidMessage()
            }
            return place.number
        }
    }
}

/// Requests, encoded.
enum EtcdRequest {
    static func put(_ key: [UInt8], _ value: [UInt8]) -> [UInt8] {
        .message { $0.put(key, value) }
    }

    /// A range of one key, or of all keys that begin with it; at a revision, if it is not 0.
    ///
    /// A local range is answered without a quorum, from the member's own data.
    static func range(
        _ key: [UInt8],
        at revision: UInt64 = 0,
        isPrefix: Bool = false,
        isKeysOnly: Bool = false,
        isLocal: Bool = false
    ) -> [UInt8] {
        .message { message in
            message.add(1, key)
            message.add(2, isPrefix ? end(ofPrefix: key) : [])
            message.add(4, revision)
            message.add(7, isLocal)
            message.add(8, isKeysOnly)
        }
    }

    static func delete(_ key: [UInt8]) -> [UInt8] {
        .message { $0.add(1, key) }
    }

    /// Puts a key unless it exists; then it reads the key.
    static func putIfMissing(_ key: [UInt8], _ value: [UInt8]) -> [UInt8] {
        .message { message in
            message.add(
                1,
                message: { compare in
                    // Equal (0, left out) to the revision 0 (left out, too) at which it was made.
                    compare.add(2, 1)
                    compare.add(3, key)
                }
            )
            message.add(
                2,
                message: { operation in
                    operation.add(2, message: { $0.put(key, value) })
                }
            )
            message.add(
                3,
                message: { operation in
                    operation.add(1, message: { $0.add(1, key) })
                }
            )
        }
    }

    /// Puts a key if it has this value.
    static func putIfEqual(_ key: [UInt8], _ former: [UInt8], _ value: [UInt8]) -> [UInt8] {
        .message { message in
            message.add(
                1,
                message: { compare in
                    // Equal (0, left out) to the value.
                    compare.add(2, 3)
                    compare.add(3, key)
                    compare.add(7, former)
                }
            )
            message.add(
                2,
                message: { operation in
                    operation.add(2, message: { $0.put(key, value) })
                }
            )
        }
    }

    /// Follows one key from a revision on.
    ///
    /// Long answers come in parts.
    static func watch(_ key: [UInt8], from revision: UInt64) -> [UInt8] {
        .message { message in
            message.add(
                1,
                message: { create in
                    create.add(1, key)
                    create.add(3, revision)
                    create.add(8, true)
                }
            )
        }
    }

    static func compact(_ revision: UInt64) -> [UInt8] {
        .message { $0.add(1, revision) }
    }

    /// The first key after all keys that begin with a prefix.
    static func end(ofPrefix prefix: [UInt8]) -> [UInt8] {
        var end = prefix
        while let last = end.popLast() {
            if last < 0xFF { return end + [last + 1] }
        }
        // All keys.
        return [0]
    }
}

extension [UInt8] {
    fileprivate static func message(_ body: (inout ProtobufWriter) -> Void) -> Self {
        ProtobufWriter.message(body)
    }
}

extension ProtobufWriter {
    fileprivate mutating func put(_ key: [UInt8], _ value: [UInt8]) {
        add(1, key)
        add(2, value)
    }
}

/// Answers, decoded.
struct EtcdAnswer {
    var header = EtcdHeader()
    var values: [EtcdKeyValue] = []
    /// Whether the condition of a transaction held.
    var isSuccess = false

    enum Kind {
        case put
        case range
        case transaction
    }

    init(_ bytes: ArraySlice<UInt8>, _ kind: Kind) throws(ProtobufReader.InvalidMessage) {
        try ProtobufReader.read(bytes) { (field) throws(ProtobufReader.InvalidMessage) in
            switch (kind, field.number) {
            case (_, 1): header = try EtcdHeader(field.bytes)
            case (.range, 2): values.append(try EtcdKeyValue(field.bytes))
            case (.transaction, 2): isSuccess = field.value != 0
            case (.transaction, 3): try add(response: field.bytes)
            case _: break
            }
        }
    }

    /// Adds the values that a range inside a transaction has found.
    private mutating func add(
        response bytes: ArraySlice<UInt8>
    ) throws(ProtobufReader.InvalidMessage) {
        try ProtobufReader.read(bytes) { (field) throws(ProtobufReader.InvalidMessage) in
            if field.number == 1 {
                values += try Self(field.bytes, .range).values
            }
        }
    }
}

/// An answer of a watch.
struct EtcdWatchAnswer {
    /// A change of the key.
    struct Event: Equatable {
        /// Whether the key was deleted, at the revision at which it was changed.
        var isDeletion = false
        var value = EtcdKeyValue()
    }

    var header = EtcdHeader()
    var isCancelled = false
    /// The first revision that etcd still has, if it does not have the requested one.
    var compacted: UInt64 = 0
    /// Another reason for the cancellation, if etcd gives one.
    var reason = ""
    /// In the order of their revisions.
    var events: [Event] = []

    init(_ bytes: ArraySlice<UInt8>) throws(ProtobufReader.InvalidMessage) {
        try ProtobufReader.read(bytes) { (field) throws(ProtobufReader.InvalidMessage) in
            switch field.number {
            case 1: header = try EtcdHeader(field.bytes)
            case 4: isCancelled = field.value != 0
            case 5: compacted = try field.revision
            case 6: reason = String(decoding: field.bytes, as: UTF8.self)
            case 11: events.append(try Self.event(field.bytes))
            case _: break
            }
        }
    }

    private static func event(
        _ bytes: ArraySlice<UInt8>
    ) throws(ProtobufReader.InvalidMessage) -> Event {
        var event = Event()
        try ProtobufReader.read(bytes) { (field) throws(ProtobufReader.InvalidMessage) in
            switch field.number {
            case 1: event.isDeletion = field.value != 0
            case 2: event.value = try EtcdKeyValue(field.bytes)
            case _: break
            }
        }
        return event
    }
}
