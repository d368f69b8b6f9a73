/// The body of an answer.
///
/// SAFETY: `@safe` because the bytes of ``owned(_:owner:)`` are kept by their owner, which is what
/// the caller of that case promises with `unsafe`.
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

    /// Owned bytes are copied after all, if there are no more than this.
    ///
    /// To retain and release an object that several threads answer with moves its count between
    /// their caches twice, which takes longer than to copy so little.
    package static let copiedBytesMax = 256
}
