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

/// A probe for one observer of several guards, which the thread enters one inside the other.
///
/// It counts and times like any, and leaves the holder's word alone: that is one guard's, and the
/// thread that is blocked at the second guard has entered the first.
@usableFromInline package struct GroupProbe: EntryObserver {
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
    package func isBlocked(_ entry: inout Entry) { entry = probe.blocked(entry) }

    @inlinable
    package func enters(_ entry: inout Entry) {
        if entry.isFollowed {
            entry = probe.entersFollowed(entry)
        }
    }

    @inlinable
    package func leaves(_ entry: Entry) {
        if entry.isFollowed {
            probe.leavesFollowed(entry)
        }
    }
}
