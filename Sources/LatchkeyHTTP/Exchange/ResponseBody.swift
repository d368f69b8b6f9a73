/// The body of an answer.
///
/// SAFETY: `@safe` because the bytes of ``owned(_:owner:)`` are kept by their owner, which is what
/// the caller of that case promises with `unsafe`.
@safe
package enum ResponseBody {
    case none
    case text(StaticString)
    /// Copied once.
    case bytes([UInt8])
    /// Not copied: `owner` is retained until the answer is out, and must keep the bytes in their
    /// place, and unchanged, as long as it lives.
    case owned(UnsafeRawBufferPointer, owner: AnyObject)
}
