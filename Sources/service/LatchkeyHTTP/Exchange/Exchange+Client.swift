import CLatchkeyHTTP

extension Exchange {
    /// The client that has sent this request: the address at the other end of the connection, or
    /// the one that a trusted proxy names.
    ///
    /// A proxy appends the address of its client to `X-Forwarded-For`, after the text that the
    /// client sent. So the last address is believed if the connection comes from a trusted proxy,
    /// and each earlier one if the address after it is a trusted proxy's as well. Stops at the
    /// first entry that is not an address.
    package var client: ClientKey { ClientKey(clientAddress) }

    /// Whether a trusted proxy has sent this request: its connection can outlive its client's.
    package var isOfProxy: Bool {
        isProxy(NetworkAddress(unsafe latchkey_http_request_peer(request)))
    }

    /// The address of ``client``.
    package var clientAddress: NetworkAddress {
        var address = NetworkAddress(unsafe latchkey_http_request_peer(request))
        guard isProxy(address), let field = headers(named: "x-forwarded-for") else {
            return address
        }
        let hops = String(decoding: field, as: UTF8.self).split(separator: ",")
        for hop in hops.reversed() {
            guard isProxy(address), let next = Self.address(of: hop) else { break }
            address = next
        }
        return address
    }

    /// Counts the connection for a client that has a token, instead of its address.
    ///
    /// Only on the server's thread, before the handler returns.
    ///
    /// - Returns: Whether the client may have this connection. Else it is closed after the answer.
    package func belongs(to client: ClientKey) -> Bool {
        client.tokenNumber.map { unsafe latchkey_http_request_belong(request, $0) } ?? true
    }

    private func isProxy(_ address: NetworkAddress) -> Bool {
        var bytes = address.bytes
        return unsafe latchkey_http_request_is_proxy(request, &bytes)
    }

    /// The address of a hop, which may have a port: `1.2.3.4`, `1.2.3.4:80`, `2001:db8::1`,
    /// `[2001:db8::1]:80`.
    private static func address(of hop: Substring) -> NetworkAddress? {
        let text = hop.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }
        if text.hasPrefix("[") {
            return NetworkAddress(text.dropFirst().prefix { $0 != "]" })
        }
        let isIPv4 = text.count { $0 == ":" } < 2
        return NetworkAddress(isIPv4 ? text.prefix { $0 != ":" } : text)
    }
}
