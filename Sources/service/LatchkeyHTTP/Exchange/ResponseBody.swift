/// The body of an answer.
///
/// SAFETY: `@safe` because the bytes of ``owned(_:owner:)`` are kept by their owner, as the caller
/// of that case promises with `unsafe`.
@safe
@usableFromInline
package enum ResponseBody {
    case none
    case text(StaticString)
    /// Copied once.
    case bytes([UInt8])
    /// Not copied: `owner` is retained until the answer is out, and must keep the bytes in their
    /// place, and unchanged, as long as it lives. But see ``copiedBytesMax``.
    case owned(UnsafeRawBufferPointer, owner: AnyObject)

    /// The bytes of all parts, of which there is at least one, in a row.
    ///
    /// Not copied, as those of ``owned(_:owner:)``. Parts can share memory: the owner keeps
    /// `heldByteCount` bytes.
    case parts([UnsafeRawBufferPointer], owner: AnyObject, heldByteCount: Int)

    package var count: Int {
        switch self {
        case .none: 0
        case .text(let text): text.utf8CodeUnitCount
        case .bytes(let bytes): bytes.count
        case .owned(let bytes, _): bytes.count
        case .parts(let parts, _, _): unsafe parts.reduce(0) { $0 + $1.count }
        }
    }

    /// How many bytes the answer keeps until it is out.
    package var heldByteCount: Int {
        if case .parts(_, _, let byteCount) = self { byteCount } else { count }
    }

    /// Owned bytes up to this number are copied all the same.
    ///
    /// Retaining and releasing an object that several threads answer with moves its count between
    /// their caches twice, which takes longer than copying so few bytes.
    package static let copiedBytesMax = 256
}
