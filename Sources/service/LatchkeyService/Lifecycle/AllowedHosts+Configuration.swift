internal import Glibc
internal import LatchkeyHTTP

extension AllowedHosts {
    /// The hosts that are served with this configuration, or nil for all.
    ///
    /// A loopback address is reached only by programs of this machine, such as a browser, so only
    /// local names are expected. The names of other addresses are known only if they are given.
    init?(_ configuration: ServiceConfiguration) {
        let isLoopback = Self.isLoopback(configuration.http.host) ?? false
        guard let names = configuration.allowedHosts, !names.isEmpty || isLoopback else {
            return nil
        }
        self.init(names + [configuration.http.host], servesAllAddresses: !isLoopback)
    }

    /// Whether the name or address to listen on is a loopback address.
    ///
    /// Nil for a name without an address: the server cannot listen on it.
    static func isLoopback(_ host: String) -> Bool? {
        var hints = unsafe addrinfo()
        unsafe hints.ai_flags = AI_PASSIVE
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, nil, &hints, &found) == 0, let first = unsafe found else {
            return nil
        }
        defer { unsafe freeaddrinfo(found) }
        guard let address = unsafe first.pointee.ai_addr else { return nil }
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let code = unsafe getnameinfo(
            address,
            first.pointee.ai_addrlen,
            &text,
            socklen_t(text.count),
            nil,
            0,
            NI_NUMERICHOST
        )
        let number = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
        return code == 0
            && (number == "::1" || number.hasPrefix("127.") || number.hasPrefix("::ffff:127."))
    }
}
