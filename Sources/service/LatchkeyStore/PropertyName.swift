/// A property's name: 1 to 256 bytes of UTF-8 without control characters.
///
/// Names are bytes: two spellings that Unicode calls equivalent are two names, and names sort by
/// their bytes, which for UTF-8 is the order of their code points.
///
/// A name on its way into the store usually borrows the request's memory instead of copying it.
///
/// SAFETY: `@safe` and `@unchecked Sendable` because the bytes are never written. The maker of a
/// name from borrowed bytes keeps them in place until the operation that was given the name has
/// called its completion; a name made with an `owner` keeps them itself.
@safe
package struct PropertyName: @unchecked Sendable {
    package static let byteCountMax = 256

    package let bytes: UnsafeRawBufferPointer
    let owner: AnyObject?

    /// Hash of the bytes with the process's random seed, so that clients cannot choose
    /// names that collide.
    package let hash: UInt64

    /// Checks the bytes and borrows them.
    ///
    /// The owner keeps the bytes alive, if the caller does not.
    package init(
        borrowing bytes: UnsafeRawBufferPointer,
        owner: AnyObject? = nil
    ) throws(InvalidName) {
        try unsafe Self.check(bytes)
        unsafe self.bytes = bytes
        self.owner = owner
        hash = unsafe Self.hash(bytes)
    }

    /// The same name in memory that begins with its bytes.
    init(_ name: PropertyName, in owner: OwnedBytes) {
        unsafe bytes = UnsafeRawBufferPointer(rebasing: owner.bytes[..<name.bytes.count])
        self.owner = owner
        hash = name.hash
    }

    /// The same name in memory of its own.
    package func copy() -> PropertyName {
        PropertyName(self, in: unsafe OwnedBytes(copying: bytes))
    }

    /// The stripe of the name among `count` stripes, as `Striped.index(hash:)` chooses it.
    func stripe(of count: Int) -> Int { Int(truncatingIfNeeded: hash) & (count &- 1) }

    static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var hasher = Hasher()
        unsafe hasher.combine(bytes: bytes)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    package static func check(_ bytes: UnsafeRawBufferPointer) throws(InvalidName) {
        if unsafe bytes.isEmpty {
            throw .empty
        }
        if bytes.count > byteCountMax {
            throw .tooLong
        }
        var isASCII = true
        for index in bytes.indices {
            let byte = unsafe bytes[index]
            if byte < 0x20 || byte == 0x7F {
                throw .controlCharacter
            }
            isASCII = isASCII && byte < 0x80
        }
        if isASCII {
            return
        }
        let text: UTF8Span
        do {
            text = try unsafe UTF8Span(validating: bytes.bindMemory(to: UInt8.self).span)
        } catch {
            throw .notUTF8
        }
        var scalars = text.makeUnicodeScalarIterator()
        while let scalar = scalars.next() {
            // The C1 controls, U+0080 to U+009F; the others were seen above.
            if (0x80...0x9F).contains(scalar.value) {
                throw .controlCharacter
            }
        }
    }
}

extension PropertyName: Hashable {
    package static func == (one: PropertyName, other: PropertyName) -> Bool {
        unsafe one.hash == other.hash && one.bytes.equals(other.bytes)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(hash)
    }
}

/// Why bytes are not a property's name.
package enum InvalidName: Error, Hashable {
    case empty
    case tooLong
    case notUTF8
    case controlCharacter
}
