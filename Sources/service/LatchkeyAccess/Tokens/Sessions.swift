package import LatchkeyFrame
package import LatchkeyHTTP
internal import LatchkeySettings
package import LatchkeyStore

/// Cookies that stand for a token in a browser, whose `EventSource` sends no header.
///
/// **Design.** A cookie is the hash of the token, the time of its end, and an authentication code
/// with a key that the process makes at its start. So the service keeps nothing for a session, and
/// a token that is revoked ends its sessions. A restart ends all.
package struct Sessions: Sendable {
    private static let keyByteCount = 32

    private let seconds: Int
    private let key: [UInt8]
    /// The name of the cookie, another one in each process: the ports of a host share cookies.
    private let name: String
    private let attributes: String
    private let now: @Sendable () -> Timestamp

    /// - Parameters:
    ///   - lifetime: The lifetime of a cookie.
    ///   - isSecure: Whether a browser sends it over TLS only.
    ///   - now: The clock.
    package init(
        lifetime: Duration,
        isSecure: Bool = false,
        now: @escaping @Sendable () -> Timestamp = { StoreClock.system.now() }
    ) {
        attributes = "Path=/; HttpOnly; SameSite=Strict" + (isSecure ? "; Secure" : "")
        seconds = Int(lifetime.components.seconds)
        self.now = now
        var random = SystemRandomNumberGenerator()
        let number = UInt32.random(in: .min ... .max, using: &random)
        name = "latchkey-session-\(String(number, radix: 16))"
        key = (0..<Self.keyByteCount).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }

    /// The `Set-Cookie` field for the holder of a token.
    ///
    /// Scripts cannot read it, and pages of other sites cannot make a browser send it.
    ///
    /// - Parameters:
    ///   - digest: The digest of the token.
    ///   - isSecure: Whether the page came over TLS, which a proxy may have ended.
    /// - Returns: The field's value.
    package func cookie(for digest: SHA256Digest, isSecure: Bool = false) -> String {
        let end = now().milliseconds / 1000 + Int64(seconds)
        let body = "\(Hexadecimal.text(digest.bytes)).\(end)"
        return "\(name)=\(body).\(code(body)); Max-Age=\(seconds); " + attributes
            + (isSecure && !attributes.hasSuffix("Secure") ? "; Secure" : "")
    }

    /// The `Set-Cookie` field that removes the cookie.
    package var removal: String { "\(name)=; Max-Age=0; " + attributes }

    /// The hash of the token that a request's cookie stands for; nil without a valid cookie.
    package func digest(of exchange: Exchange) -> SHA256Digest? {
        guard let field = exchange.header(named: .cookie) else { return nil }
        for pair in String(decoding: field, as: UTF8.self).split(separator: ";") {
            let pair = pair.drop { $0 == " " }
            guard pair.hasPrefix("\(name)="),
                let digest = digest(of: pair.dropFirst(name.utf8.count + 1))
            else { continue }
            return digest
        }
        return nil
    }

    /// The same for the value of a cookie.
    package func digest(of value: Substring) -> SHA256Digest? {
        let parts = value.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let end = Int64(parts[1]),
            let sent = Hexadecimal.bytes(parts[2]).flatMap({ SHA256Digest($0) }),
            authenticationCode("\(parts[0]).\(parts[1])").isEqual(to: sent),
            now().milliseconds / 1000 < end
        else { return nil }
        return Hexadecimal.bytes(parts[0]).flatMap { SHA256Digest($0) }
    }

    private func code(_ body: String) -> String {
        Hexadecimal.text(authenticationCode(body).bytes)
    }

    private func authenticationCode(_ body: String) -> SHA256Digest {
        SHA256.authenticationCode(of: Array(body.utf8), key: key)
    }
}
