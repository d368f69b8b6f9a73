/// How an access enters the guarded section.
public enum AccessMode: String, BitwiseCopyable, Sendable, CaseIterable {
    case read
    case write
}

/// The request of an access.
///
/// Each access function makes one of constants, so that a question about it costs nothing.
public struct AccessRequest: BitwiseCopyable, Sendable {
    /// Whether the body changes the value; readers may be inside together.
    public var mode: AccessMode
    /// Where the access function was called.
    public var site: CallSite
    /// Whether the access was submitted: its body may run later, on another thread.
    public var isSubmitted: Bool
    /// Whether no write takes effect meanwhile, also where readers do not delay writers.
    public var keepsWritersOut: Bool

    /// An access of a caller that waits for it.
    @inlinable public init(
        _ mode: AccessMode,
        at site: CallSite = .unknown,
        isSubmitted: Bool = false,
        keepsWritersOut: Bool = false
    ) {
        self.mode = mode
        self.site = site
        self.isSubmitted = isSubmitted
        self.keepsWritersOut = keepsWritersOut
    }
}
