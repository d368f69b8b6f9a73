internal import CLatchkeyFetch
package import LatchkeySettings

/// The hosts that a step may fetch from, and the limits of a fetch.
package struct FetchLimits: Sendable, Hashable {
    /// The version of libcurl that is loaded.
    package static var libraryVersion: String {
        unsafe String(cString: latchkey_fetch_library_version())
    }

    /// The hosts that are allowed, as they are written in the setting.
    package var allowed: [String] = []
    package var timeLimit = Duration.seconds(10)
    package var byteCountMax = 1 << 20

    package init() {}
}

extension FetchLimits: Configurable {
    package static let standard = Self()

    package static let settings: [Setting<Self>] = [
        .texts(
            "allow-fetch",
            \.allowed,
            placeholder: "HOST[:PORT]",
            of: "hosts with an optional port, such as example.org:8080 or [2001:db8::1]",
            isRight: { AllowedOrigin($0) != nil },
            "The hosts from which the step fetch of an operation may read, or none. Without a "
                + "port: 80 for http and 443 for https. A name that leads to a private or "
                + "loopback address is refused unless the address itself is listed."
        )
    ]
}

/// A host, and maybe a port, that a step may fetch from.
struct AllowedOrigin: Hashable, Sendable {
    /// A name in lower case, or an address as the system writes it.
    let host: String
    /// Nil for the standard port of the scheme.
    let port: UInt16?

    init(host: String, port: UInt16?) {
        self.host = host
        self.port = port
    }

    /// Reads `HOST`, `HOST:PORT`, `[ADDRESS]` or `[ADDRESS]:PORT`; nil if it is none of them.
    init?(_ text: String) {
        var rest = Substring(text)
        let isBracketed = rest.first == "["
        let name: Substring
        if isBracketed {
            guard let end = rest.firstIndex(of: "]") else { return nil }
            name = rest[rest.index(after: rest.startIndex)..<end]
            rest = rest[rest.index(after: end)...]
        } else {
            let end = rest.firstIndex(of: ":") ?? rest.endIndex
            name = rest[..<end]
            rest = rest[end...]
        }
        if rest.isEmpty {
            port = nil
        } else {
            guard rest.first == ":", rest.dropFirst().utf8.allSatisfy({ (48...57).contains($0) }),
                let number = UInt16(rest.dropFirst()), number > 0
            else { return nil }
            port = number
        }
        if isBracketed {
            guard let address = FetchAddress(literal: String(name)), address.isVersion6 else {
                return nil
            }
            host = address.text
        } else {
            guard Self.isName(name) else { return nil }
            host = FetchAddress(literal: String(name))?.text ?? name.lowercased()
        }
    }

    private static func isName(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.count <= 253
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"),
                    UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    /// The port for a URL of this scheme; nil for other schemes.
    static func standardPort(_ scheme: String) -> UInt16? {
        switch scheme {
        case "http": 80
        case "https": 443
        default: nil
        }
    }
}
