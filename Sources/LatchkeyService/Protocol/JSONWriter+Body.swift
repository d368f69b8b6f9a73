internal import LatchkeyHTTP
internal import LatchkeyStore

extension JSONWriter {
    /// The text as a body that refers to long values instead of copying them.
    var body: ResponseBody {
        guard !references.isEmpty else {
            return .bytes(bytes)
        }
        let text = ReferringText(self)
        return unsafe .parts(text.parts, owner: text)
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

    init(_ json: JSONWriter) {
        own = OwnedBytes(json.bytes)
        properties = json.references.map(\.property)
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
