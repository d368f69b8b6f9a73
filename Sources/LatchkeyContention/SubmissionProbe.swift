public import LatchkeySync

/// A probe for what is submitted: where that runs later, a body may submit to its own guard.
@usableFromInline package struct SubmissionProbe: EntryObserver {
    @usableFromInline package typealias Entry = ContentionProbe.Entry

    @usableFromInline let probe: ContentionProbe

    @inlinable
    init(_ probe: ContentionProbe) {
        self.probe = probe
    }

    @inlinable package static var isActive: Bool { ContentionProbe.isActive }

    @inlinable
    package func asks(_ mode: AccessMode) -> Entry { probe.asks(mode) }

    @inlinable
    package func isBlocked(_ entry: inout Entry) { probe.isBlockedAsSubmitted(&entry) }

    @inlinable
    package func enters(_ entry: inout Entry) { probe.enters(&entry) }

    @inlinable
    package func leaves(_ entry: Entry) { probe.leaves(entry) }
}
