/// One operation on one property, as a trace has it: 16 bytes.
package struct TraceRecord: Sendable, Equatable {
    package static let byteCount = 16

    /// The kind of an operation.
    package enum Kind: UInt8, CaseIterable, Sendable {
        case get = 1
        case put = 2
        case delete = 3
        case increment = 4
        case merge = 5
        /// Of many properties: the record has no key.
        case list = 6

        package var isWrite: Bool { self != .get && self != .list }
    }

    /// Since the beginning of the recording.
    package var nanoseconds: UInt64
    /// Stands for the property's name: a hash with a secret seed of the process that recorded.
    package var key: UInt32
    package var kind: Kind
    /// Which power of two the size of the value reaches: see ``sizeClass(byteCount:)``.
    ///
    /// 0 if the size is not known, as for reads.
    package var sizeClass: UInt8
    /// Whether the operation is a step of the same transaction as the record before.
    package var isJoined: Bool

    package init(
        nanoseconds: UInt64,
        key: UInt32,
        kind: Kind,
        sizeClass: UInt8 = 0,
        isJoined: Bool = false
    ) {
        self.nanoseconds = nanoseconds
        self.key = key
        self.kind = kind
        self.sizeClass = sizeClass
        self.isJoined = isJoined
    }

    /// The class of a value of this size: 1 for one byte, 2 for two and three, 3 for four to seven,
    /// and so on.
    package static func sizeClass(byteCount: Int) -> UInt8 {
        UInt8(Int.bitWidth - max(1, byteCount).leadingZeroBitCount)
    }

    /// The smallest size in a class.
    package static func byteCountMin(sizeClass: UInt8) -> Int {
        sizeClass == 0 ? 0 : 1 << (min(sizeClass, 62) - 1)
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(littleEndian: nanoseconds)
        bytes.append(littleEndian: key)
        bytes += [kind.rawValue, sizeClass, isJoined ? 1 : 0, 0]
    }

    /// Reads the record at the beginning of the slice; nil if its kind is unknown.
    init?(_ bytes: ArraySlice<UInt8>) {
        let start = bytes.startIndex
        guard let kind = Kind(rawValue: bytes[start + 12]) else { return nil }
        self.init(
            nanoseconds: bytes.littleEndian(at: start),
            key: bytes.littleEndian(at: start + 8),
            kind: kind,
            sizeClass: bytes[start + 13],
            isJoined: bytes[start + 14] & 1 == 1
        )
    }
}
