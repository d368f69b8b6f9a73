internal import Glibc
internal import LatchkeyAccess
internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyMachine
internal import LatchkeyPersistence
internal import LatchkeyReplicas
internal import LatchkeySettings
internal import LatchkeyStore
internal import LatchkeyWatches

/// The faults that a start with a configuration would find, without starting.
///
/// Each check calls the code of a start, or the part of it that changes nothing. So no folder is
/// made, no client can connect, and the files stay as they were.
package struct StartCheck: Sendable {
    /// The reasons why the service would not start, a sentence each; empty if it would start.
    package private(set) var faults: [String] = []
    /// Settings that are allowed, but perhaps a mistake.
    package private(set) var notes: [String] = []

    /// - Parameters:
    ///   - configuration: The choices.
    ///   - isRunning: Whether a service with these choices may run now: then its port and its
    ///     folder can be in use.
    package init(_ configuration: ServiceConfiguration, isRunning: Bool) {
        notes += configuration.startWarnings
        checkAccess(configuration.access)
        checkCertificate(configuration)
        let (audit, data) = (configuration.audit.path, configuration.persistence.path)
        let recording = configuration.recording.path
        add { () throws(AuditFailure) in
            if !audit.isEmpty { try AuditFile.check(audit) }
        } saying: {
            $0.message
        }
        add { () throws(PersistenceFailure) in
            if !data.isEmpty { try Persistence.checkStart(data, mayBeInUse: isRunning) }
        } saying: {
            $0.reason(isReplica: configuration.cluster.isOn)
        }
        add { () throws(StartFailure) in
            if configuration.cluster.isOn { _ = try EtcdAccess(configuration.cluster) }
        } saying: {
            $0.reason
        }
        add { () throws(StartFailure) in
            let (follow, cluster) = (configuration.follow, configuration.cluster)
            if follow.isOn || cluster.isOn { try follow.peers.check() }
        } saying: {
            $0.reason
        }
        add { () throws(RecordingFailure) in
            if !recording.isEmpty { try TraceRecorder.checkNew(recording) }
        } saying: {
            $0.message
        }
        if let reason = DescriptorLimit.raise(for: configuration) { faults.append(reason) }
        checkPorts(configuration, isRunning: isRunning)
        checkBounds(configuration)
    }

    /// Adds the fault that a part of the start has, if it has one.
    private mutating func add<Failure: Error>(
        _ part: () throws(Failure) -> Void,
        saying sentence: (Failure) -> String
    ) {
        do throws(Failure) {
            try part()
        } catch {
            faults.append(sentence(error))
        }
    }

    private mutating func checkAccess(_ access: AccessSettings) {
        add { () throws(AccessFileError) in
            if access.makesFirstToken {
                try access.checkFirstToken()
            } else if !access.tokenFile.isEmpty {
                _ = try AccessControl(access)
            }
        } saying: {
            access.sentence(about: $0)
        }
    }

    private mutating func checkCertificate(_ configuration: ServiceConfiguration) {
        do throws(StartFailure) {
            guard let certificate = try configuration.openCertificate() else { return }
            let now = StoreClock.system.now().milliseconds / 1000
            guard certificate.expiry <= now else { return }
            notes.append("\(configuration.tls.certificate) has ended: clients refuse it.")
        } catch {
            faults.append(error.reason)
        }
    }

    private mutating func checkPorts(_ configuration: ServiceConfiguration, isRunning: Bool) {
        var http = configuration.http
        let admin = configuration.adminPort
        if let admin, admin != 0, admin == http.port {
            faults.append("--admin-port and --port must be two ports.")
        }
        for port in Set([http.port] + (admin.map { [$0] } ?? [])).sorted() {
            http.port = port
            do throws(HTTPServerError) {
                try HTTPServer.checkAddress(http)
            } catch {
                guard !isRunning || error.cause?.number != EADDRINUSE else { continue }
                faults.append("\(error.description).")
            }
        }
    }

    /// Notes limits that others make useless.
    private mutating func checkBounds(_ configuration: ServiceConfiguration) {
        let store = configuration.storeLimits
        if configuration.http.bodyBytesMax > store.byteCountMax {
            notes.append("--max-body-bytes is above --max-bytes: such a value has no room.")
        }
        for quota in store.quotas where quota.byteCountMax > store.byteCountMax {
            notes.append("--quota of '\(quota.text)' is above --max-bytes, which is reached first.")
        }
        let isDefault =
            configuration.watchLimits.watcherCountMax == WatchLimits.standard.watcherCountMax
        if !isDefault, configuration.watchLimits.watcherCountMax > configuration.http.connectionsMax
        {
            notes.append("--max-watchers is above --max-connections, which is reached first.")
        }
    }
}
