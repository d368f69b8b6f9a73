package import LatchkeyFrame
package import LatchkeyHTTP
internal import LatchkeySettings
internal import LatchkeyStrategies

/// The rights of clients: the tokens of the file, which can change while the service runs.
///
/// **Design.** Each request looks its token up in a table that is replaced as a whole under the
/// strategy `snapshot`, so that it does not wait for a change of the file. A request and a watch
/// refer to their token without counting, so a token is kept until the process ends, even if its
/// line is gone. Then it is revoked, which all long operations check. A token takes some hundred
/// bytes.
///
/// A token is found by its hash. The time of a look-up can only tell an attacker about the hash of
/// the sent text, which tells nothing about another hash or about a token.
package final class AccessControl: Sendable {
    /// The valid tokens.
    private struct Table: Sendable {
        var byDigest: [SHA256Digest: Caller] = [:]
        var byName: [String: Caller] = [:]
    }

    /// One reader at a time: an older text must not replace a newer one.
    private let file: Guarded<TokenFile>
    private let table = Synchronized<Table, SnapshotStrategy>(Table())
    /// All tokens that there ever were, and the keys of the valid ones.
    private let known = Guarded(Known())

    private struct Known {
        /// A token stays the same if its grants change.
        struct Key: Hashable {
            let name: String
            let digest: SHA256Digest
        }

        var tokens: [Token] = []
        var current: [Key: (token: Token, grants: Grants)] = [:]
    }

    private let sessions: Sessions
    private let opened: Set<OpenedPage>

    /// Reads the file.
    package init(_ settings: AccessSettings, isEncrypted: Bool = false) throws(AccessFileError) {
        file = Guarded(TokenFile(path: settings.tokenFile))
        sessions = Sessions(lifetime: settings.sessionTime, isSecure: isEncrypted)
        opened = Set(settings.opened)
        _ = try reload(onlyIfChanged: false)
        guard tokenCount > 0 else {
            throw AccessFileError("\(settings.tokenFile) has no token.")
        }
    }

    /// The number of valid tokens.
    package var tokenCount: Int { table.read { $0.byDigest.count } }

    // MARK: Requests

    /// The sender of a request, or the reason why it is not known.
    package func caller(of exchange: Exchange) -> Identification {
        let found = caller(ofHeader: exchange)
        guard case .unnamed = found else { return found }
        if exchange.hasHeader(named: .cookie), let digest = sessions.digest(of: exchange) {
            return find(digest)
        }
        return caller(ofCertificate: exchange)
    }

    /// The holder of the token whose name the client's certificate has.
    private func caller(ofCertificate exchange: Exchange) -> Identification {
        switch exchange.clientCertificate {
        case .none: .unnamed
        case .refused: .badCertificate
        case .valid(let name):
            table.read { $0.byName[name] }.map { .caller($0, nil) } ?? .unknownCertificate
        }
    }

    /// The same without the cookie of the request.
    package func caller(ofHeader exchange: Exchange) -> Identification {
        // Another scheme is for a proxy, not for this service.
        guard let field = exchange.header(named: .authorization) else { return .unnamed }
        // Any other value is an invalid token; there is no fallback.
        guard !exchange.repeatsHeader(named: .authorization) else { return .malformed }
        guard field.isOfBearer else { return field.isEmpty ? .malformed : .unnamed }
        guard let secret = field.bearerToken else { return .malformed }
        return find(unsafe secret.withUnsafeBytes { unsafe SHA256.digest($0) })
    }

    private func find(_ digest: SHA256Digest) -> Identification {
        table.read { $0.byDigest[digest] }.map { .caller($0, digest) } ?? .unknown
    }

    /// The holder of the tokens of a name; nil if no line has it.
    package func caller(named name: String) -> Caller? {
        table.read { $0.byName[name] }
    }

    /// Whether a page needs no token.
    package func isOpen(_ page: OpenedPage) -> Bool { opened.contains(page) }

    /// The cookie of a session for the holder of a token.
    package func cookie(for digest: SHA256Digest, isSecure: Bool) -> String {
        sessions.cookie(for: digest, isSecure: isSecure)
    }

    /// The field that removes the cookie of a session.
    package var cookieRemoval: String { sessions.removal }

    // MARK: Changes of the file

    /// Reads the file again if it has changed since, or in any case.
    ///
    /// - Returns: How many tokens there were and are; nil if the file is as it was.
    /// - Throws: If the file is not right. The tokens stay as they were.
    package func reload(onlyIfChanged: Bool) throws(AccessFileError) -> (former: Int, now: Int)? {
        try file.write { file throws(AccessFileError) in
            let lines = onlyIfChanged ? try file.readIfChanged() : try file.read()
            guard let lines else { return nil }
            let former = tokenCount
            take(lines)
            return (former, tokenCount)
        }
    }

    private func take(_ lines: [TokenLine]) {
        known.write { known in
            let former = known.current
            known.current = [:]
            var table = Table()
            for line in lines {
                let key = Known.Key(name: line.name, digest: line.digest)
                let token = former[key]?.token ?? Token(line.name, line.grants)
                if former[key] == nil { known.tokens.append(token) }
                if let found = former[key], found.grants != line.grants { token.grant(line.grants) }
                known.current[key] = (token, line.grants)
                table.byDigest[line.digest] = Caller(token)
                table.byName[line.name] = Caller(token)
            }
            self.table.exchange(table)
            // After the table is replaced, a revoked token is no longer found.
            for (key, gone) in former where known.current[key] == nil { gone.token.revoke() }
        }
    }
}

/// The identification of a request's sender.
package enum Identification: Sendable {
    /// The digest is that of a token that was sent; nil if a certificate was shown.
    case caller(Caller, SHA256Digest?)
    /// The request names no sender.
    case unnamed
    /// The field is not a token.
    case malformed
    /// A token that is not valid.
    case unknown
    /// A certificate that cannot be verified.
    case badCertificate
    /// A certificate whose name no token has.
    case unknownCertificate
}

extension Bytes {
    /// Whether an `Authorization` field has the scheme for tokens, whose name has no case.
    fileprivate var isOfBearer: Bool {
        let scheme = Bytes("bearer")
        return count >= scheme.count && range(0, scheme.count).equalsIgnoringCase(scheme)
            && (count == scheme.count || !self[scheme.count].isLetterOfScheme)
    }

    /// The token of an `Authorization` field with the scheme for tokens (RFC 6750, section 2.1),
    /// after one space or more (RFC 9110, section 11.4); nil if it has none.
    fileprivate var bearerToken: Bytes? {
        let space = UInt8(ascii: " ")
        let end = Bytes("bearer").count
        var start = end
        while start < count, self[start] == space { start += 1 }
        guard start > end, start < count else { return nil }
        let secret = range(start, count)
        return secret.contains(space) ? nil : secret
    }
}

extension UInt8 {
    /// Whether it can be a part of a scheme's name (RFC 9110, section 5.6.2).
    fileprivate var isLetterOfScheme: Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self)
            || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
            || "!#$%&'*+-.^_`|~".utf8.contains(self)
    }
}
