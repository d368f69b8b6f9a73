import LatchkeyJSON

/// Runs the body with a valid JSON text.
@discardableResult
func withJSON<Result>(_ text: String, _ body: (JSONView) throws -> Result) throws -> Result {
    try unsafe Array(text.utf8).withUnsafeBytes { bytes in
        try unsafe JSONText.check(bytes, depthMax: 100)
        return try unsafe body(JSONView(bytes))
    }
}

extension JSONView {
    /// The bytes of the value as a string.
    var spelling: String { unsafe String(decoding: bytes, as: UTF8.self) }
}
