internal import CLatchkeyHTTP
internal import Glibc

extension ResponseFields {
    /// The fields that were added so far: each name and each value with a NUL behind it.
    ///
    /// Nil if one of them was not valid.
    package func copied() -> [UInt8]? {
        guard areValid else { return nil }
        let made = unsafe response ?? latchkey_http_short_response(request)
        let count = unsafe latchkey_http_response_copy_fields(made, nil, 0)
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { memory, initialized in
            initialized = unsafe latchkey_http_response_copy_fields(
                made,
                memory.baseAddress,
                count
            )
        }
    }

    /// Adds the fields of another answer, as ``copied()`` gave them.
    package mutating func add(copied fields: [UInt8]) {
        var texts = fields.split(separator: 0, omittingEmptySubsequences: false).dropLast()
        precondition(texts.count.isMultiple(of: 2), "each name has a value")
        while let name = texts.popFirst(), let value = texts.popFirst() {
            unsafe fields.withUnsafeBytes { memory in
                let base = unsafe memory.baseAddress.unsafelyUnwrapped
                unsafe addTerminated(base + name.startIndex, base + value.startIndex)
            }
        }
    }
}
