public import LatchkeySync

/// A probe for what is submitted: where that runs later, a body may submit to its own guard.
@usableFromInline package struct SubmissionProbe: EntryObserver {
    @usableFromInline let probe: ContentionProbe

    @inlinable
    init(_ probe: ContentionProbe) {
        self.probe = probe
    }

    @inlinable package static var isActive: Bool { ContentionProbe.isActive }

    @inlinable
    package func asks(_ mode: AccessMode) -> ContentionProbe.MeteredEntry { probe.asks(mode) }

    @inlinable
    package func isBlocked(_ entry: inout ContentionProbe.MeteredEntry) {
        probe.isBlockedAsSubmitted(&entry)
    }

    @inlinable
    package func enters(_ entry: inout ContentionProbe.MeteredEntry) { probe.enters(&entry) }

    @inlinable
    package func leaves(_ entry: ContentionProbe.MeteredEntry) { probe.leaves(entry) }
}
