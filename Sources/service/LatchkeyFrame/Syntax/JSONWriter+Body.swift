package import LatchkeyHTTP
package import LatchkeyJSON
internal import LatchkeyStore

extension JSONWriter {
    /// The text as a body that refers to long values instead of copying them.
    package var body: ResponseBody {
        guard unsafe !references.isEmpty else {
            return .bytes(bytes)
        }
        let text = ReferringText(self)
        return unsafe .parts(text.parts, owner: text, heldByteCount: text.heldByteCount)
    }
}

/// A JSON text in parts, and the values that they refer to.
///
/// SAFETY: `@safe` and `@unchecked Sendable` because nothing of it changes, and it keeps the
/// memory of all parts.
@safe
private final class ReferringText: @unchecked Sendable {
    private let own: OwnedBytes
    private let owners: [AnyObject]
    let parts: [UnsafeRawBufferPointer]
    /// The bytes of its own text, and of each value once, even if it occurs several times.
    let heldByteCount: Int

    init(_ json: JSONWriter) {
        own = OwnedBytes(json.bytes)
        owners = unsafe json.references.map { unsafe $0.owner }
        var seen = Set<ObjectIdentifier>()
        heldByteCount = unsafe json.references.reduce(json.bytes.count) { count, value in
            let isFirst = unsafe seen.insert(ObjectIdentifier(value.owner)).inserted
            return isFirst ? unsafe count + value.value.count : count
        }
        var parts = unsafe [UnsafeRawBufferPointer]()
        var start = 0
        for index in unsafe json.references.indices {
            let reference = unsafe json.references[index]
            unsafe parts.append(.init(rebasing: own.bytes[start..<reference.offset]))
            unsafe parts.append(reference.value)
            start = unsafe reference.offset
        }
        unsafe parts.append(UnsafeRawBufferPointer(rebasing: own.bytes[start...]))
        unsafe self.parts = parts
    }
}
