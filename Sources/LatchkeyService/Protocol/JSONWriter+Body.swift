internal import LatchkeyHTTP
internal import LatchkeyStore

extension JSONWriter {
    /// The text as a body that refers to long values instead of copying them.
    var body: ResponseBody {
        guard !references.isEmpty else {
            return .bytes(bytes)
        }
        let text = ReferringText(self)
        return unsafe .parts(text.parts, owner: text, heldByteCount: text.heldByteCount)
    }
}

/// A JSON text in parts, and what they refer to.
///
/// SAFETY: `@safe` and `@unchecked Sendable` because nothing of it changes, and it keeps the
/// memory of all parts.
@safe
private final class ReferringText: @unchecked Sendable {
    private let own: OwnedBytes
    private let properties: [Property]
    let parts: [UnsafeRawBufferPointer]
    /// The text of its own, and each value once, however often it comes.
    let heldByteCount: Int

    init(_ json: JSONWriter) {
        own = OwnedBytes(json.bytes)
        properties = json.references.map(\.property)
        var seen = Set<ObjectIdentifier>()
        heldByteCount = properties.reduce(json.bytes.count) { count, property in
            let isFirst = seen.insert(ObjectIdentifier(property.owner)).inserted
            return isFirst ? unsafe count + property.valueBytes.count : count
        }
        var parts = unsafe [UnsafeRawBufferPointer]()
        var start = 0
        for (offset, property) in json.references {
            unsafe parts.append(.init(rebasing: own.bytes[start..<offset]))
            unsafe parts.append(property.valueBytes)
            start = offset
        }
        unsafe parts.append(UnsafeRawBufferPointer(rebasing: own.bytes[start...]))
        unsafe self.parts = parts
    }
}
