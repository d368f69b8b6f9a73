internal import CLatchkeyFetch

/// The address of a service.
package struct ServiceAddress: Sendable, Equatable {
    /// The scheme, the host and the port.
    package let origin: String

    /// For messages.
    package static let example = "http://127.0.0.1:8080"

    /// `nil` if the text is not the address of an HTTP server.
    ///
    /// Without a scheme it is `http`. It has no path but `/`, no query and no user.
    package init?(_ text: String) {
        let full = text.contains("://") ? text : "http://" + text
        guard let scheme = ["http://", "https://"].first(where: full.hasPrefix) else { return nil }
        let rest = full.dropFirst(scheme.count)
        let authority = rest.last == "/" ? rest.dropLast() : rest
        guard !authority.isEmpty, !authority.contains(where: Self.isForbidden) else { return nil }
        let origin = scheme + authority
        var parts = unsafe latchkey_fetch_origin()
        guard unsafe latchkey_fetch_origin_of(origin, &parts) else { return nil }
        defer { unsafe latchkey_fetch_origin_free(&parts) }
        guard unsafe parts.port > 0 else { return nil }
        self.origin = origin
    }

    private static func isForbidden(_ character: Character) -> Bool {
        "/?#@\\".contains(character) || character.isWhitespace || !character.isASCII
    }
}
