extension Bytes {
    /// Bytes of a buffer, which must live longer than they are used.
    @inlinable
    @unsafe
    package init(_ buffer: UnsafeBufferPointer<UInt8>) {
        unsafe self.init(buffer.baseAddress, count: buffer.count)
    }
}
