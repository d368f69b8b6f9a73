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
            "A file that gets one line of JSON for each write and each refusal, or none: when, "
                + "which token and address, which property and revision, and the status. SIGHUP "
                + "opens it anew, as logrotate needs."
        )
    ]
}
