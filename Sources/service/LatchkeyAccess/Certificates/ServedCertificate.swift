package import LatchkeyHTTP
package import LatchkeyMetrics
internal import LatchkeyStore
internal import LatchkeyStrategies
internal import Synchronization

/// The certificate that the service shows: that of its files, which can change while it runs.
///
/// A tool that renews a certificate writes its files one after the other. Until both are there they
/// do not belong together, so a failure is logged only if it lasts.
///
/// **Design.** The lock of the files is held while they are read, which can take long. The end of
/// the certificate, which other threads read meanwhile, stands beside it: relaxed, since it orders
/// nothing.
package final class ServedCertificate: Sendable {
    /// The number of failures in a row until one is reported.
    private static let patience = 3

    private struct Files {
        var certificate: WatchedFile
        var key: WatchedFile
        var authorities: WatchedFile?
        /// The served identity.
        var identity: TLSIdentity
        var failureCount = 0

        init(_ settings: TLSSettings) throws(AccessFileError) {
            let path = settings.clientAuthorities
            certificate = WatchedFile(path: settings.certificate)
            key = WatchedFile(path: settings.key)
            authorities = path.isEmpty ? nil : WatchedFile(path: path)
            identity = try Self.read(&certificate, &key, &authorities)
        }

        var haveChanged: Bool {
            certificate.hasChanged || key.hasChanged || authorities?.hasChanged == true
        }

        mutating func read() throws(AccessFileError) -> TLSIdentity {
            try Self.read(&certificate, &key, &authorities)
        }

        private static func read(
            _ certificate: inout WatchedFile,
            _ key: inout WatchedFile,
            _ authorities: inout WatchedFile?
        ) throws(AccessFileError) -> TLSIdentity {
            TLSIdentity(
                certificates: try certificate.read(),
                key: try key.read(),
                authorities: try authorities?.read()
            )
        }
    }

    private let files: Guarded<Files>
    /// Beside `files`, whose lock is held while they are read.
    private let end: Atomic<Int64>

    /// Reads the files.
    package init(_ settings: TLSSettings) throws(AccessFileError) {
        guard !settings.certificate.isEmpty, !settings.key.isEmpty else {
            throw AccessFileError("--tls-certificate and --tls-key need each other.")
        }
        let files = try Files(settings)
        end = Atomic(try Self.expiry(of: files.identity, settings.certificate))
        self.files = Guarded(files)
    }

    private static func expiry(
        of identity: TLSIdentity,
        _ path: String
    ) throws(AccessFileError) -> Int64 {
        do {
            return try identity.expiry()
        } catch {
            throw AccessFileError("\(path): \(error.message)")
        }
    }

    /// The served identity.
    ///
    /// Blocks while the files are read.
    package var identity: TLSIdentity { files.write { $0.identity } }

    /// When the certificate ends, in seconds since 1970.
    package var expiry: Int64 { end.load(ordering: .relaxed) }

    /// Reads the files again if they have changed since, or in any case.
    ///
    /// - Parameters:
    ///   - onlyIfChanged: True if no signal has asked for it; then a failure is thrown only if it
    ///     lasts.
    ///   - serve: Gets the identity of the files, unless it is served already.
    /// - Returns: When the new certificate ends; nil if the files are as they were.
    /// - Throws: If the files are not right. The served identity stays.
    package func reload(
        onlyIfChanged: Bool,
        _ serve: (TLSIdentity) throws(TLSIdentityError) -> Void
    ) throws(AccessFileError) -> Int64? {
        try files.write { files throws(AccessFileError) -> Int64? in
            guard !onlyIfChanged || files.haveChanged || files.failureCount > 0 else { return nil }
            do throws(AccessFileError) {
                let identity = try files.read()
                let expiry = try Self.expiry(of: identity, files.certificate.path)
                guard identity != files.identity else {
                    files.failureCount = 0
                    return nil
                }
                let now = StoreClock.system.now().milliseconds / 1000
                guard expiry > now || self.expiry <= now else {
                    throw AccessFileError("\(files.certificate.path) has ended.")
                }
                do throws(TLSIdentityError) {
                    try serve(identity)
                } catch {
                    throw AccessFileError("\(files.certificate.path): \(error.message)")
                }
                files.failureCount = 0
                files.identity = identity
                end.store(expiry, ordering: .relaxed)
                return expiry
            } catch {
                files.failureCount += 1
                guard onlyIfChanged else {
                    // It is reported now, and need not be reported again.
                    files.failureCount = Self.patience
                    throw error
                }
                guard files.failureCount != Self.patience else { throw error }
                return nil
            }
        }
    }
}

extension ServedCertificate {
    private static let expiry = MetricFamily(
        "latchkey_tls_certificate_expiry_seconds",
        .gauge,
        help: "When the certificate that is served ends, in seconds since 1970."
    )

    package func register(in registry: MetricRegistry) {
        registry.collect([Self.expiry]) { writer in
            writer.begin(Self.expiry)
            writer.sample(.none, UInt64(clamping: self.expiry))
        }
    }
}
