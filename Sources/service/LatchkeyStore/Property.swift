internal import CLatchkeySystem
internal import Glibc

/// A revision of the store: 1 for the first commit, one more for each further one, never 0.
package typealias Revision = UInt64

/// One property at one revision: its name and its value's bytes as they were sent.
///
/// **Design.** Name, value and numbers are one allocation, because a store holds millions of
/// them. A property is never changed once other threads can see it: a write makes a new one. So a
/// reader may keep it, and hand its bytes to the network, without any lock.
///
/// SAFETY: `@unchecked Sendable` because the only writes after `init` are that of
/// ``assign(revision:created:expiry:)``, inside the guarded section that publishes the property,
/// and those of an atomic number.
package struct Property: @unchecked Sendable {
    private struct Header {
        /// Read and written atomically; the first field, so that its place is that of the header.
        var lastUse: UInt64 = 0
        var revision: Revision = 0
        var created: Revision = 0
        var expiry = Timestamp.never
        let valueCount: UInt32
        let nameCount: UInt16
        /// Whether the bytes are those of another property, and only its reference is here.
        var isShared = false
    }

    /// SAFETY: the reference of another property is retained once for this one, never changes, and
    /// is released with it.
    private final class Memory: ManagedBuffer<Header, UInt8> {
        deinit {
            if header.isShared {
                unsafe source.release()
            }
        }

        /// The memory of the property whose bytes are shared.
        var source: Unmanaged<Memory> {
            unsafe withUnsafeMutablePointerToElements { elements in
                let place = UnsafeRawPointer(elements)
                return unsafe .fromOpaque(place.loadUnaligned(as: UnsafeRawPointer.self))
            }
        }
    }

    /// The minimum of bytes that a touch shares.
    private static let sharedByteCountMin = 4096

    private let memory: Memory

    /// Copies a name and a value.
    ///
    /// The revisions are 0 until the write is committed.
    package init(name: PropertyName, value: UnsafeRawBufferPointer) {
        let byteCount = unsafe name.bytes.count + value.count
        let header = unsafe Header(
            valueCount: UInt32(value.count),
            nameCount: UInt16(name.bytes.count)
        )
        memory = Self.memory(header, byteCount)
        unsafe memory.withUnsafeMutablePointerToElements { elements in
            let bytes = unsafe UnsafeMutableRawBufferPointer(start: elements, count: byteCount)
            unsafe bytes.copyMemory(from: name.bytes)
            unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[name.bytes.count...])
                .copyMemory(from: value)
        }
    }

    /// The same name and value; a long one is shared.
    ///
    /// The revisions are 0 until the write is committed.
    func touched() -> Property {
        guard byteCount >= Self.sharedByteCountMin else {
            return unsafe Property(name: PropertyName(of: self), value: valueBytes)
        }
        return Property(sharing: self)
    }

    private init(sharing property: Property) {
        let header = Header(
            valueCount: UInt32(property.valueCount),
            nameCount: UInt16(property.nameCount),
            isShared: true
        )
        memory = unsafe Self.memory(header, MemoryLayout<UnsafeRawPointer>.size)
        let former = property.memory
        let source = unsafe property.isShared ? former.source.takeUnretainedValue() : former
        unsafe memory.withUnsafeMutablePointerToElements { elements in
            unsafe UnsafeMutableRawPointer(elements).storeBytes(
                of: UnsafeRawPointer(Unmanaged.passRetained(source).toOpaque()),
                as: UnsafeRawPointer.self
            )
        }
    }

    private static func memory(_ header: Header, _ byteCount: Int) -> Memory {
        let memory = Memory.create(minimumCapacity: byteCount) { _ in header }
        return unsafe unsafeDowncast(memory, to: Memory.self)
    }

    /// Copies a property of a commit that was made before, as a file has it.
    package init(
        name: PropertyName,
        value: UnsafeRawBufferPointer,
        revision: Revision,
        created: Revision,
        expiry: Timestamp
    ) {
        unsafe self.init(name: name, value: value)
        assign(revision: revision, created: created, expiry: expiry)
    }

    /// Read through a pointer, because the runtime checks each access to a stored property of a
    /// class for overlaps; a field that never changes has none.
    @inline(__always)
    private func header<Field>(_ read: (Header) -> Field) -> Field {
        unsafe memory.withUnsafeMutablePointerToHeader { unsafe read($0.pointee) }
    }

    package var revision: Revision { header { $0.revision } }

    /// The revision at which the property came into being, or came back after a deletion.
    package var created: Revision { header { $0.created } }

    /// When the property expires.
    package var expiry: Timestamp { header { $0.expiry } }

    private var isShared: Bool { header { $0.isShared } }
    private var nameCount: Int { header { Int($0.nameCount) } }
    private var valueCount: Int { header { Int($0.valueCount) } }

    /// The number of the last use, where uses are numbered.
    ///
    /// Readers write it at any time, and it orders nothing else.
    var lastUse: UInt64 {
        get {
            unsafe memory.withUnsafeMutablePointerToHeader {
                unsafe latchkey_system_load(UnsafeRawPointer($0))
            }
        }
        nonmutating set {
            unsafe memory.withUnsafeMutablePointerToHeader {
                unsafe latchkey_system_store(UnsafeMutableRawPointer($0), newValue)
            }
        }
    }

    /// Whether the property expires at all.
    package var isMortal: Bool { expiry != .never }

    /// Whether the property has expired.
    ///
    /// The clock is read only for a property that expires.
    func isExpired(_ clock: StoreClock) -> Bool {
        isMortal && isExpired(at: clock.now())
    }

    package func isExpired(at time: Timestamp) -> Bool {
        expiry.milliseconds <= time.milliseconds
    }

    /// The length of name and value together, which counts towards the store's limit on bytes.
    package var byteCount: Int { nameCount + valueCount }

    /// The object that keeps ``nameBytes`` and ``valueBytes`` in place.
    package var owner: AnyObject { memory }

    /// The name's bytes.
    ///
    /// Valid while the property or its ``owner`` lives.
    package var nameBytes: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: bytes, count: nameCount)
    }

    /// The value's bytes.
    ///
    /// Valid while the property or its ``owner`` lives.
    package var valueBytes: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(
            start: bytes + nameCount,
            count: valueCount
        )
    }

    private var bytes: UnsafeRawPointer {
        guard isShared else {
            return unsafe memory.withUnsafeMutablePointerToElements { UnsafeRawPointer($0) }
        }
        // The bytes of the source stay in place as long as the memory here.
        return unsafe memory.source._withUnsafeGuaranteedRef { source in
            unsafe source.withUnsafeMutablePointerToElements { UnsafeRawPointer($0) }
        }
    }

    /// A hash of name, value and revisions that is the same in every process: FNV-1a of 64 bits
    /// (Fowler, Noll and Vo), mixed once more because digests are added up.
    var digest: UInt64 {
        var hash = StableHash()
        let expiry = UInt64(bitPattern: expiry.milliseconds)
        for number in [revision, created, expiry, UInt64(nameCount)] { hash.add(number) }
        unsafe hash.add(UnsafeRawBufferPointer(start: bytes, count: byteCount))
        return hash.value
    }

    /// Whether this is the same property at the same revision, by its place in memory.
    func isSame(as other: Property) -> Bool {
        memory === other.memory
    }

    /// The address of the property in memory, for ``latchkey_system_prefetch``.
    var address: UInt { UInt(bitPattern: ObjectIdentifier(memory)) }

    /// Stamps a property that no other thread can see yet.
    func assign(revision: Revision, created: Revision, expiry: Timestamp) {
        unsafe memory.withUnsafeMutablePointerToHeader { header in
            unsafe header.pointee.revision = revision
            unsafe header.pointee.created = created
            unsafe header.pointee.expiry = expiry
        }
    }
}

extension PropertyName {
    /// The name of a property, which keeps its bytes.
    init(of property: Property) {
        unsafe bytes = property.nameBytes
        owner = property.owner
        hash = unsafe Self.hash(property.nameBytes)
    }
}

extension UnsafeRawBufferPointer {
    /// Whether the bytes are the same.
    func equals(_ other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else {
            return false
        }
        guard let start = baseAddress, let otherStart = other.baseAddress else {
            return true
        }
        return unsafe memcmp(start, otherStart, count) == 0
    }

    init(_ text: StaticString) {
        unsafe self.init(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }

    /// Whether the bytes are those of the text.
    func equals(_ text: StaticString) -> Bool {
        unsafe equals(UnsafeRawBufferPointer(text))
    }

    /// Whether these bytes sort before the others: byte by byte, and a prefix before longer bytes.
    func precedes(_ other: UnsafeRawBufferPointer) -> Bool {
        guard let start = baseAddress, let otherStart = other.baseAddress else {
            return count < other.count
        }
        let order = unsafe memcmp(start, otherStart, Swift.min(count, other.count))
        return order == 0 ? count < other.count : order < 0
    }

    /// Whether the bytes begin with the others.
    func begins(with prefix: UnsafeRawBufferPointer) -> Bool {
        guard count >= prefix.count else {
            return false
        }
        return unsafe UnsafeRawBufferPointer(rebasing: self[..<prefix.count]).equals(prefix)
    }
}
