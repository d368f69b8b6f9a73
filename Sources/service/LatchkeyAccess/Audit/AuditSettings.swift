package import LatchkeySettings

/// The choices of `--audit-log`.
package struct AuditSettings: Sendable {
    /// The file of the audit log; empty for none.
    package var path = ""

    package init() {}
}

extension AuditSettings: Configurable {
    package static let standard = Self()

    package static let settings: [Setting<Self>] = [
        .path(
            "audit-log",
            \.path,
            "A file that gets a line of JSON for each write and each refusal, or none. The line "
                + "has the time, token, address, property, revision and status. SIGHUP reopens "
                + "it, as logrotate needs."
        )
    ]
}
