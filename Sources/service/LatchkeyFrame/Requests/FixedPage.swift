package import LatchkeyHTTP

/// A body that seldom changes, with the entity tag of its bytes.
package struct FixedPage: Sendable {
    package let type: StaticString
    package let bytes: [UInt8]
    /// Between the quotes of a strong tag.
    package let tag: String

    package init(_ type: StaticString, _ bytes: [UInt8]) {
        self.type = type
        self.bytes = bytes
        tag = SHA256.digest(bytes).bytes.prefix(16)
            .map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}

extension ServiceRequest {
    /// Answers with a page, or with 304 if the client has it.
    ///
    /// - Parameters:
    ///   - page: The page.
    ///   - fields: Adds header fields to the page.
    /// - Throws: A failure if the conditions of the request are not valid, or do not hold.
    package func respond(
        _ page: FixedPage,
        fields: (inout ResponseFields) -> Void = { _ in }
    ) throws(RequestFailure) {
        guard try names(page, .ifMatch, .strong) != false else {
            throw RequestFailure(.preconditionFailed)
        }
        let isKnown = try names(page, .ifNoneMatch, .weak) == true
        respond(isKnown ? .notModified : .ok, body: .bytes(page.bytes)) { answer in
            answer.add("ETag", text: "\"\(page.tag)\"")
            guard !isKnown else { return }
            answer.add("Content-Type", page.type)
            fields(&answer)
        }
    }

    /// Whether a field has the tag of the page; nil without the field.
    private func names(
        _ page: FixedPage,
        _ name: FieldName,
        _ comparison: EntityTags.Comparison
    ) throws(RequestFailure) -> Bool? {
        guard let field = exchange.headers(named: name) else { return nil }
        do {
            return try EntityTags.names(page.tag, in: field, comparison: comparison)
        } catch {
            throw RequestFailure(.invalidCondition)
        }
    }
}
