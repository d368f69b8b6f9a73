public import LatchkeySync

/// A probe for what is submitted: where that runs later, a body may submit to its own guard.
public struct SubmissionProbe: EntryObserver {
    @usableFromInline let probe: ContentionProbe

    @inlinable
    init(_ probe: ContentionProbe) {
        self.probe = probe
    }

    /// True: contention is counted.
    @inlinable public static var isActive: Bool { ContentionProbe.isActive }

    /// Counts the access, and notes the time if it is one of those that are timed.
    @inlinable
    public func asks(_ mode: AccessMode) -> ContentionProbe.MeteredEntry { probe.asks(mode) }

    /// Counts the access, and notes the time if it is one of those that are timed.
    @inlinable
    public func asks(_ mode: AccessMode, at site: CallSite) -> ContentionProbe.MeteredEntry {
        probe.asks(mode, at: site)
    }

    /// Counts the access as contended.
    @inlinable
    public func isBlocked(_ entry: inout ContentionProbe.MeteredEntry) {
        probe.isBlockedAsSubmitted(&entry)
    }

    /// Ends the wait.
    @inlinable
    public func enters(_ entry: inout ContentionProbe.MeteredEntry) { probe.enters(&entry) }

    /// Ends the wait of an access that does not take place.
    @inlinable
    public func givesUp(_ entry: ContentionProbe.MeteredEntry) { probe.givesUp(entry) }

    /// Ends the hold.
    @inlinable
    public func leaves(_ entry: ContentionProbe.MeteredEntry) { probe.leaves(entry) }
}
