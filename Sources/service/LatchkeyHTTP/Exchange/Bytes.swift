public import CLatchkeyHTTP
import Glibc

/// Bytes of a request, read in place.
///
/// They are valid until their exchange has been answered. Copy bytes that must live longer:
/// `Array(bytes)`.
///
/// SAFETY: `@safe` because every access is inside the bounds; the user must keep to the time, as
/// above. `@unchecked Sendable` because no thread writes to them.
@safe
@usableFromInline
package struct Bytes: @unchecked Sendable {
    @usableFromInline let base: UnsafePointer<UInt8>?
    @usableFromInline package let count: Int

    @inlinable
    init(_ base: UnsafePointer<UInt8>?, count: Int) {
        unsafe self.base = base
        self.count = count
    }

    @inlinable
    init(_ bytes: latchkey_http_bytes) {
        let base = unsafe UnsafeRawPointer(bytes.bytes)?.assumingMemoryBound(to: UInt8.self)
        unsafe self.init(base, count: bytes.count)
    }

    /// Bytes that are never freed.
    @inlinable
    package init(_ text: StaticString) {
        unsafe self.init(text.utf8Start, count: text.utf8CodeUnitCount)
    }

    /// The bytes from `lower` up to `upper`, which must be inside.
    @inlinable
    package func range(_ lower: Int, _ upper: Int) -> Bytes {
        precondition(0 <= lower && lower <= upper && upper <= count, "a range inside the bytes")
        guard let base = unsafe base else { return self }
        return unsafe Bytes(base + lower, count: upper - lower)
    }

    /// The start of these bytes, a range that is not empty, in `whole`.
    func offset(in whole: Bytes) -> Int {
        guard let base = unsafe base, let start = unsafe whole.base else { return 0 }
        return unsafe base - start
    }

    /// The index of the first such byte from `start` on, which must be inside; ``count`` without
    /// one.
    func index(of byte: UInt8, from start: Int) -> Int {
        precondition(0 <= start && start <= count, "an index inside the bytes")
        guard let base = unsafe base,
            let found = unsafe memchr(base + start, Int32(byte), count - start)
        else { return count }
        return unsafe UnsafeRawPointer(found) - UnsafeRawPointer(base)
    }

    /// Whether the array has these bytes at `start`.
    func isPart(of array: [UInt8], at start: Int) -> Bool {
        guard 0 <= start, count <= array.count - start, let base = unsafe base else {
            return false
        }
        return unsafe array.withUnsafeBufferPointer { array in
            guard let first = array.baseAddress else { return false }
            return unsafe memcmp(first + start, base, count) == 0
        }
    }

    /// Whether the other bytes are the same, but for the case of ASCII letters.
    package func equalsIgnoringCase(_ other: Bytes) -> Bool {
        func lowered(_ byte: UInt8) -> UInt8 {
            byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
        }
        return elementsEqual(other) { lowered($0) == lowered($1) }
    }

    /// Calls `body` with the memory.
    @inlinable
    package func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafeRawBufferPointer(start: base, count: count))
    }
}

extension Bytes: RandomAccessCollection {
    @inlinable package var startIndex: Int { 0 }
    @inlinable package var endIndex: Int { count }

    @inlinable
    package subscript(index: Int) -> UInt8 {
        precondition(index >= 0 && index < count, "an index inside the bytes")
        // Bytes that are there have a base.
        return unsafe base.unsafelyUnwrapped[index]
    }

    @inlinable
    package func withContiguousStorageIfAvailable<Result>(
        _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) rethrows -> Result? {
        try unsafe body(UnsafeBufferPointer(start: base, count: count))
    }
}

extension Bytes: Equatable {
    @usableFromInline
    package static func == (left: Bytes, right: Bytes) -> Bool {
        guard left.count == right.count else { return false }
        guard let start = unsafe left.base, let otherStart = unsafe right.base else { return true }
        return unsafe memcmp(start, otherStart, left.count) == 0
    }
}
