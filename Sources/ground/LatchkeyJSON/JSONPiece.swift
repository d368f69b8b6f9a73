internal import CLatchkeySystem

/// Short parts of a JSON text, in memory on the stack.
///
/// SAFETY: `@safe` because every part is checked against the memory's length; the lender of the
/// memory keeps it until the piece is gone.
@safe
package struct JSONPiece {
    /// The length of the memory.
    @usableFromInline
    static let byteCountMax = 256
    /// The longest string that is written as a part.
    static let stringByteCountMax = 64

    @usableFromInline let memory: UnsafeMutableRawBufferPointer
    @usableFromInline var end = 0

    @inlinable
    init(_ memory: UnsafeMutableRawBufferPointer) {
        unsafe self.memory = memory
    }

    /// The parts so far.
    @inlinable
    var written: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: memory[..<end])
    }

    /// Writes JSON as it is.
    @inlinable @inline(__always)
    package mutating func raw(_ text: StaticString) {
        unsafe append(UnsafeRawBufferPointer(text))
    }

    /// Writes a string that needs no escape.
    @inlinable
    package mutating func string(_ text: UnsafeRawBufferPointer) {
        raw("\"")
        unsafe append(text)
        raw("\"")
    }

    package mutating func integer(_ number: UInt64) {
        let place = unsafe room(DecimalText.byteCountMax)
        end += unsafe latchkey_system_decimal(number, place)
    }

    @inlinable @inline(__always)
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if let start = bytes.baseAddress {
            unsafe room(bytes.count).copyMemory(from: start, byteCount: bytes.count)
            end += bytes.count
        }
    }

    /// A place with room for this many bytes.
    @inlinable @inline(__always)
    func room(_ byteCount: Int) -> UnsafeMutableRawPointer {
        guard unsafe end + byteCount <= memory.count, let start = unsafe memory.baseAddress else {
            preconditionFailure("The parts of a piece of JSON are short.")
        }
        return unsafe start + end
    }
}
