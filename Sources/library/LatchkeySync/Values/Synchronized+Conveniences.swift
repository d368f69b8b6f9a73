// Names for common uses of `read` and `write`. Each is one access: blocking, and atomic by itself.
// Two of them in a row are two accesses, and another thread can enter in between.

extension Synchronized where Value: Sendable, ChosenStrategy: BlockingStrategy {
    /// A copy of the whole value.
    ///
    /// One read, which blocks as ``read(fileID:line:_:)``. There is no setter: `value +=
    /// 1` would be a read and a write with a gap in between. Change the value in one `write`.
    @inlinable public var value: Value {
        read(AccessRequest(.read), "value") { $0 }
    }

    /// Replaces the value and returns the one before.
    ///
    /// One write, which blocks as ``write(fileID:line:_:)``: of two threads that exchange
    /// at once, one gets the value that the other one has put in. If the result is not used, the
    /// old value is destroyed after the lock is released, which `write { $0 = newValue }` does
    /// before.
    @discardableResult
    @inlinable public func exchange(
        _ newValue: consuming Value,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> Value {
        var value = newValue
        write(CallSite(fileID, line), "exchange") { swap(&$0, &value) }
        return value
    }
}
