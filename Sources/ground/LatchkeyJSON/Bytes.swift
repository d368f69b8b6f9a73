internal import Glibc

extension UnsafeRawBufferPointer {
    @inlinable
    init(_ text: StaticString) {
        unsafe self.init(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }

    /// Whether the bytes are the same.
    func equals(_ other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count, let start = baseAddress, let otherStart = other.baseAddress
        else { return count == other.count }
        return unsafe memcmp(start, otherStart, count) == 0
    }
}
