internal import Glibc
package import LatchkeyHTTP
internal import Synchronization

/// A token that the service knows, or has known.
///
/// **Design.** Its grants can change, and it can be revoked: one atomic reference, and a flag.
/// ``AccessControl`` changes them. It revokes a token after the token has left the table in which
/// requests look tokens up.
///
/// SAFETY: `@safe` and `@unchecked Sendable` because allowances and the memory of the name are
/// never freed, as no token is, and the name is written before another thread has the object.
@safe
package final class Token: @unchecked Sendable {
    package let name: String
    /// In memory of its own: threads that serve would all write to the reference count of an array.
    private let nameMemory: UnsafeRawBufferPointer
    /// Nil for ``none``.
    package let client: ClientKey?
    private let allowance: Atomic<Unmanaged<Allowance>>
    private let isGone = Atomic(false)

    /// Stands for no token: it grants nothing.
    package static let none = Token("", client: nil, Allowance(Grants()))

    package convenience init(_ name: String, _ grants: Grants) {
        let number = SHA256.digest(Array(name.utf8)).prefix
        self.init(name, client: ClientKey(tokenNumber: number), Allowance(grants))
    }

    private init(_ name: String, client: ClientKey?, _ allowance: Allowance) {
        self.name = name
        let memory = UnsafeMutableRawBufferPointer.allocate(
            byteCount: name.utf8.count,
            alignment: 1
        )
        unsafe memory.copyBytes(from: name.utf8)
        unsafe nameMemory = UnsafeRawBufferPointer(memory)
        self.client = client
        unsafe self.allowance = Atomic(Unmanaged.passRetained(allowance))
    }

    /// A copy of the bytes of ``name``.
    package var nameBytes: [UInt8] { unsafe Array(nameMemory) }

    /// Whether the token is no longer valid.
    package var isRevoked: Bool { isGone.load(ordering: .acquiring) }

    package func revoke() {
        isGone.store(true, ordering: .releasing)
    }

    package func grant(_ grants: Grants) {
        // Releasing: pairs with the loads below.
        unsafe allowance.store(Unmanaged.passRetained(Allowance(grants)), ordering: .releasing)
    }

    /// Whether the right is granted; one to properties, for any name.
    package func allows(_ right: Right) -> Bool {
        unsafe allowance.load(ordering: .acquiring)._withUnsafeGuaranteedRef { $0.allows(right) }
    }

    /// Whether the right, one to properties, is granted for all names that begin with these bytes.
    package func allows(_ right: Right, _ start: UnsafeRawBufferPointer) -> Bool {
        unsafe allowance.load(ordering: .acquiring)
            ._withUnsafeGuaranteedRef { unsafe $0.allows(right, start) }
    }
}

/// Grants in a form that is fast to check.
///
/// **Design.** The prefixes are in memory of their own: threads that serve would all write to the
/// reference counts of arrays.
///
/// SAFETY: `@safe` and `@unchecked Sendable` because the prefixes are written before another thread
/// has the object, which is never freed.
@safe
private final class Allowance: @unchecked Sendable {
    private let rightBits: UInt16
    private let readPrefixes: UnsafeBufferPointer<UnsafeRawBufferPointer>
    private let writePrefixes: UnsafeBufferPointer<UnsafeRawBufferPointer>

    init(_ grants: Grants) {
        rightBits = grants.rightBits
        unsafe readPrefixes = Self.copies(grants.readPrefixes)
        unsafe writePrefixes = Self.copies(grants.writePrefixes)
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

    func allows(_ right: Right) -> Bool {
        switch right {
        case .read: unsafe !readPrefixes.isEmpty
        case .write: unsafe !writePrefixes.isEmpty
        default: rightBits & right.bit != 0
        }
    }

    func allows(_ right: Right, _ start: UnsafeRawBufferPointer) -> Bool {
        let prefixes = unsafe right == .read ? readPrefixes : writePrefixes
        return unsafe prefixes.contains { prefix in
            guard let base = prefix.baseAddress, prefix.count > 0 else { return true }
            guard let bytes = start.baseAddress, start.count >= prefix.count else { return false }
            return unsafe memcmp(bytes, base, prefix.count) == 0
        }
    }
}
