internal import LatchkeyFrame
internal import LatchkeyHTTP

/// Bytes of the body of an import, in the order in which they came.
///
/// SAFETY: `@safe` because every access is inside the memory, which lives as long as the object.
/// `@unchecked Sendable` because threads add bytes one after the other, and none does once they are
/// read.
@safe
final class ImportBuffer: @unchecked Sendable {
    /// A buffer is full from here on, or without room for a piece like the last one.
    ///
    /// So one piece, which may be longer than the last one, can go beyond.
    static let fullByteCount = 256 << 10
    /// How many buffers of that length all imports can have.
    static let longCountMax = (32 << 20) / fullByteCount

    private var memory: UnsafeMutableRawBufferPointer
    private var byteCount = 0
    /// Its place among the full buffers, which is given back with the object.
    private var place: (places: SharedPlaces, client: ClientKey)?

    /// - Parameter capacity: The room for bytes at first.
    init(capacity: Int) {
        unsafe memory = .allocate(byteCount: capacity, alignment: 1)
    }

    deinit {
        unsafe memory.deallocate()
        if let place {
            place.places.leave(place.client)
        }
    }

    var bytes: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: memory[..<byteCount])
    }

    /// How many bytes its memory has.
    var capacity: Int { unsafe memory.count }

    /// How many bytes can be added without other memory.
    var roomByteCount: Int { unsafe memory.count - byteCount }

    /// Makes room for a full buffer, if there is a place for the client.
    func lengthen(in places: SharedPlaces, for client: ClientKey) {
        guard capacity < Self.fullByteCount, place == nil, places.enter(client) == .entered else {
            return
        }
        place = (places, client)
        reserve(Self.fullByteCount)
    }

    /// Adds bytes, in other memory if there is no room: twice as much, unless it has a place.
    func append(_ added: UnsafeRawBufferPointer) {
        if roomByteCount < added.count {
            unsafe reserve(max(byteCount + added.count, place == nil ? 2 * memory.count : 0))
        }
        unsafe UnsafeMutableRawBufferPointer(rebasing: memory[byteCount...])
            .copyMemory(from: added)
        byteCount += added.count
    }

    private func reserve(_ capacity: Int) {
        let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 1)
        unsafe larger.copyMemory(from: bytes)
        unsafe memory.deallocate()
        unsafe memory = larger
    }
}
