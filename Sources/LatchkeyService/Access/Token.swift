internal import Glibc
internal import LatchkeyHTTP
internal import Synchronization

/// A token that the service knows, or has known.
///
/// **Design.** The grants are never changed. Only the mark that the token counts no more is: behind
/// the table that requests look tokens up in.
///
/// SAFETY: `@safe` and `@unchecked Sendable` because the prefixes are written before anybody has
/// the object, and freed with it.
@safe
final class Token: @unchecked Sendable {
    let line: TokenLine
    /// Nil for ``none``.
    let client: ClientKey?
    /// Prefixes in memory of their own: threads that serve would all write to the reference counts
    /// of arrays.
    private let readPrefixes: UnsafeBufferPointer<UnsafeRawBufferPointer>
    private let writePrefixes: UnsafeBufferPointer<UnsafeRawBufferPointer>
    private let isGone = Atomic(false)

    /// Stands for no token: it grants nothing.
    static let none = Token(.none, client: nil)

    convenience init(_ line: TokenLine) {
        let number = SHA256.digest(Array(line.name.utf8)).prefix
        self.init(line, client: ClientKey(tokenNumber: number))
    }

    private init(_ line: TokenLine, client: ClientKey?) {
        self.line = line
        self.client = client
        unsafe readPrefixes = Self.copies(line.grants.readPrefixes)
        unsafe writePrefixes = Self.copies(line.grants.writePrefixes)
    }

    deinit {
        unsafe Self.free(readPrefixes)
        unsafe Self.free(writePrefixes)
    }

    private static func free(_ prefixes: UnsafeBufferPointer<UnsafeRawBufferPointer>) {
        for index in prefixes.indices { unsafe prefixes[index].deallocate() }
        unsafe prefixes.deallocate()
    }

    private static func copies(
        _ prefixes: [[UInt8]]
    ) -> UnsafeBufferPointer<UnsafeRawBufferPointer> {
        let copies = UnsafeMutableBufferPointer<UnsafeRawBufferPointer>.allocate(
            capacity: prefixes.count
        )
        for (index, prefix) in prefixes.enumerated() {
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: prefix.count, alignment: 1)
            unsafe copy.copyBytes(from: prefix)
            unsafe copies.initializeElement(at: index, to: UnsafeRawBufferPointer(copy))
        }
        return UnsafeBufferPointer(copies)
    }

    /// Whether the token counts no more.
    var isRevoked: Bool { isGone.load(ordering: .acquiring) }

    func revoke() {
        isGone.store(true, ordering: .releasing)
    }

    /// Whether the right is granted; one to properties, for any name.
    func allows(_ right: Right) -> Bool {
        switch right {
        case .read: unsafe !readPrefixes.isEmpty
        case .write: unsafe !writePrefixes.isEmpty
        default: line.grants.rightBits & right.bit != 0
        }
    }

    /// Whether the right, one to properties, is granted for all names that begin with these bytes.
    func allows(_ right: Right, _ start: UnsafeRawBufferPointer) -> Bool {
        let prefixes = unsafe right == .read ? readPrefixes : writePrefixes
        return unsafe prefixes.contains { prefix in
            guard let base = prefix.baseAddress, prefix.count > 0 else { return true }
            guard let bytes = start.baseAddress, start.count >= prefix.count else {
                return false
            }
            return unsafe memcmp(bytes, base, prefix.count) == 0
        }
    }
}
