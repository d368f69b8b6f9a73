/// Bytes in memory of their own.
///
/// SAFETY: `@safe` and `@unchecked Sendable` because the bytes are written once, before another
/// thread has the object, and freed with it.
@safe
package final class OwnedBytes: @unchecked Sendable {
    package let bytes: UnsafeRawBufferPointer

    /// Copies the bytes, followed by the others.
    package init(
        copying first: UnsafeRawBufferPointer,
        _ second: UnsafeRawBufferPointer = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    ) {
        let memory = UnsafeMutableRawBufferPointer.allocate(
            byteCount: first.count + second.count,
            alignment: 1
        )
        unsafe memory.copyMemory(from: first)
        unsafe UnsafeMutableRawBufferPointer(rebasing: memory[first.count...])
            .copyMemory(from: second)
        unsafe bytes = UnsafeRawBufferPointer(memory)
    }

    package init(_ content: [UInt8]) {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: content.count, alignment: 1)
        unsafe memory.copyBytes(from: content)
        unsafe bytes = UnsafeRawBufferPointer(memory)
    }

    deinit {
        unsafe bytes.deallocate()
    }
}
