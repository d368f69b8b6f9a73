internal import CLatchkeyRPC

/// A member of etcd, as clients reach it.
package struct EtcdServer: Sendable, Equatable {
    package let host: String
    package let port: UInt16
    package let isEncrypted: Bool

    /// The address as it is written.
    package var text: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return (isEncrypted ? "https://" : "http://") + name + ":\(port)"
    }

    /// Nil if the text is not such an address: `http://HOST:PORT` or `https://HOST:PORT`, where the
    /// port is 2379 if there is none.
    package init?(_ text: String) {
        let schemes = [("http://", false), ("https://", true)]
        guard let (scheme, isEncrypted) = schemes.first(where: { text.hasPrefix($0.0) })
        else { return nil }
        var authority = text.dropFirst(scheme.count)
        if authority.last == "/" { authority.removeLast() }
        var port: Substring?
        if authority.first == "[" {
            // An address of version 6.
            guard let end = authority.firstIndex(of: "]") else { return nil }
            let rest = authority[end...].dropFirst()
            guard rest.isEmpty || rest.first == ":" else { return nil }
            port = rest.isEmpty ? nil : rest.dropFirst()
            host = String(authority[..<end].dropFirst())
        } else {
            let parts = authority.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count <= 2 else { return nil }
            port = parts.count == 2 ? parts[1] : nil
            host = String(parts.first ?? "")
        }
        let isName = { (character: Character) in
            character.isASCII
                && (character.isLetter || character.isNumber || ".-_:".contains(character))
        }
        guard !host.isEmpty, host.allSatisfy(isName), let number = UInt16(port ?? "2379"),
            number > 0
        else { return nil }
        self.port = number
        self.isEncrypted = isEncrypted
    }
}

/// The authorities that clients of etcd trust, and the certificate that they show: texts in PEM.
package struct EtcdTrust: Sendable, Equatable {
    /// Nil for the authorities of the system.
    package var authorities: String?
    package var certificate: String?
    package var key: String?

    package init(authorities: String? = nil, certificate: String? = nil, key: String? = nil) {
        self.authorities = authorities
        self.certificate = certificate
        self.key = key
    }

    /// The error in the authorities; nil if there is none.
    package var objectionToAuthorities: String? {
        guard let authorities else { return nil }
        return unsafe latchkey_rpc_check_authorities(authorities).map {
            unsafe String(cString: $0)
        }
    }
}
