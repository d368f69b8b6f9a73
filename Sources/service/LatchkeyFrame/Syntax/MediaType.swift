package import LatchkeyHTTP

/// The media types that the service tells apart.
package enum MediaType {
    /// Whether a `Content-Type` names JSON: `application/json` or any type with the suffix `+json`
    /// (RFC 6839), with any parameters.
    ///
    /// RFC 8259 defines no parameters. A `charset` other than UTF-8 is refused, because JSON is
    /// UTF-8.
    package static func isJSON(_ field: Bytes) -> Bool {
        // Nearly every client sends this.
        field == Bytes("application/json") || isJSON(ContentType(field))
    }

    private static func isJSON(_ type: ContentType) -> Bool {
        !type.hasOtherCharset && (type.isType("application/json") || type.hasJSONSuffix)
    }

    /// Whether a `Content-Type` names a merge patch (RFC 7396), or just JSON as `curl --json` does.
    ///
    /// With any parameters that JSON may have.
    /// Other types with `+json`, such as that of JSON Patch, mean something else.
    package static func isMergePatch(_ field: Bytes) -> Bool {
        let type = ContentType(field)
        return !type.hasOtherCharset
            && (type.isType("application/merge-patch+json") || type.isType("application/json"))
    }

    /// Whether a `Content-Type` is that of a form, which `curl -d` sends with any body.
    package static func isForm(_ field: Bytes) -> Bool {
        ContentType(field).isType("application/x-www-form-urlencoded")
    }

    /// Whether a `Content-Type` names JSON texts on lines of their own, with any parameters that
    /// JSON may have.
    ///
    /// No type is registered; these three are in use.
    package static func isJSONLines(_ field: Bytes) -> Bool {
        let type = ContentType(field)
        return !type.hasOtherCharset
            && (type.isType("application/x-ndjson") || type.isType("application/jsonl")
                || type.isType("application/json-lines"))
    }

    /// Whether an `Accept` header asks for plain text rather than JSON.
    ///
    /// JSON is the default: text must be named, with a higher quality than JSON if JSON is named
    /// too, and not below that of `*/*`.
    package static func prefersText(_ accept: (some Collection<UInt8>)?) -> Bool {
        var qualities: [String: Double] = [:]
        for element in accept?.split(separator: UInt8(ascii: ",")) ?? [] {
            let parts = String(decoding: element, as: UTF8.self).lowercased()
                .split(separator: ";").map { String($0).trimmingSpaces() }
            let quality = parts.dropFirst().first { $0.hasPrefix("q=") }
                .map { Double($0.dropFirst(2)) ?? 0 }
            if let type = parts.first {
                qualities[type] = max(qualities[type] ?? 0, quality ?? 1)
            }
        }
        let text = max(qualities["text/plain"] ?? 0, qualities["text/*"] ?? 0)
        let json = max(qualities["application/json"] ?? 0, qualities["application/*"] ?? 0)
        return text > json && text >= qualities["*/*"] ?? 0
    }
}

extension String {
    /// The string without spaces and tabs at its ends.
    package func trimmingSpaces() -> String {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        let start = firstIndex { !isSpace($0) } ?? endIndex
        let end = self[start...].lastIndex { !isSpace($0) }.map { index(after: $0) } ?? start
        return String(self[start..<end])
    }
}
