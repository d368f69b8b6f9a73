internal import CGnuTLS
internal import LatchkeyHTTP
internal import LatchkeyJSON
internal import LatchkeyMachine
internal import LatchkeyOperations
internal import LatchkeyPersistence

/// The identity of this program: its version, its build and the libraries that it has loaded.
///
/// The only source for `latchkey --version`, `/version` and `latchkey_build_info`.
package struct ProgramVersion: Sendable {
    package let version: String
    /// The build ID from the linker, in hexadecimal: the same for the same build, and for its file
    /// of symbols; nil if there is none.
    package let build = ProgramBuild.identifier
    /// `debug` or `release`.
    package let configuration = Fingerprint.configuration
    /// The newest version that the compiler claims to reach.
    package let swift = Fingerprint.compilerVersion
    /// The loaded libraries whose versions matter, by name.
    package let libraries: [(name: String, version: String)] = [
        ("gnutls", unsafe gnutls_check_version(nil).map { unsafe String(cString: $0) } ?? ""),
        ("libcurl", FetchLimits.libraryVersion),
        ("libmicrohttpd", HTTPServer.libraryVersion),
        ("sqlite", Persistence.libraryVersion),
    ]

    package init(_ version: String) {
        self.version = version
    }

    /// The lines of `latchkey --version`; the first has only the version.
    package var text: String {
        let build = build.map { "build \($0), " } ?? ""
        return """
            latchkey \(version)
            \(build)\(configuration), Swift \(swift)
            \(libraries.map { "\($0.name) \($0.version)" }.joined(separator: ", "))

            """
    }

    /// The body of `/version`.
    var json: [UInt8] {
        var json = JSONWriter()
        json.object { object in
            object.member("version", version)
            if let build { object.member("build", build) }
            object.member("configuration", configuration)
            object.member("swift", swift)
            object.object("libraries") { libraries in
                for library in self.libraries { libraries.member(library.name, library.version) }
            }
        }
        return json.bytes
    }

    /// The labels of the metric `latchkey_build_info`.
    var labels: [(name: String, value: String)] {
        [
            ("version", version), ("build", build ?? ""), ("swift", swift),
            ("configuration", configuration),
        ]
    }
}
