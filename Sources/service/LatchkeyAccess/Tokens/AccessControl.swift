package import LatchkeyFrame
package import LatchkeyHTTP
internal import LatchkeySettings
internal import LatchkeyStrategies

/// Who may do what: the tokens of the file, which can change while the service runs.
///
/// **Design.** Each request looks its token up in a table that is replaced as a whole under the
/// strategy `snapshot`, so that it does not wait for a change of the file. A request and a watch
/// refer to their token without counting, so a token is kept until the process ends, also when its
/// line is gone. Then it is revoked, which everything that lasts looks at. A token takes some
/// hundred bytes.
///
/// A token is found by its hash. What an attacker could learn from the time of a look-up is about
/// the hash of what was sent, which tells nothing about another hash or about a token.
package final class AccessControl: Sendable {
    /// The tokens that count.
    private struct Table: Sendable {
        var byDigest: [SHA256Digest: Caller] = [:]
        var byName: [String: Caller] = [:]
    }

    /// One reader at a time: an older text must not take the place of a newer one.
    private let file: Guarded<TokenFile>
    private let table = Synchronized<Table, SnapshotStrategy>(Table())
    /// All tokens there ever were, and what those that count are known by.
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

    /// How many tokens count.
    package var tokenCount: Int { table.read { $0.byDigest.count } }

    // MARK: Requests

    /// Who has sent a request, or why that is not known.
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

    /// The same of a request whose cookie does not count.
    package func caller(ofHeader exchange: Exchange) -> Identification {
        // Another scheme is that of a proxy, and none of ours.
        guard let field = exchange.header(named: .authorization) else { return .unnamed }
        // What is no other scheme is a token that is not right: nothing else stands in for it.
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

    /// Whether everybody may use a page.
    package func isOpen(_ page: OpenedPage) -> Bool { opened.contains(page) }

    /// The cookie of a session for the holder of a token.
    package func cookie(for digest: SHA256Digest, isSecure: Bool) -> String {
        sessions.cookie(for: digest, isSecure: isSecure)
    }

    /// What removes the cookie of a session.
    package var cookieRemoval: String { sessions.removal }

    // MARK: Changes of the file

    /// Reads the file again if it has changed since, or in any case.
    ///
    /// - Returns: How many tokens there were and are; nil if the file is as it was.
    /// - Throws: What is wrong with the file. The tokens stay as they were.
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
            // Behind the table: who finds a revoked token looks it up in vain from now on.
            for (key, gone) in former where known.current[key] == nil { gone.token.revoke() }
        }
    }
}

/// What a request says about who has sent it.
package enum Identification: Sendable {
    /// The digest is that of a token that was sent; nil if a certificate was shown.
    case caller(Caller, SHA256Digest?)
    /// Nothing.
    case unnamed
    /// What it says is no token.
    case malformed
    /// A token that does not count.
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
    /// behind one space or more (RFC 9110, section 11.4); nil if it has none.
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
    /// Whether the name of a scheme goes on with it (RFC 9110, section 5.6.2).
    fileprivate var isLetterOfScheme: Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self)
            || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
            || "!#$%&'*+-.^_`|~".utf8.contains(self)
    }
}
