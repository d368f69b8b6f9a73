/// Tells two observers of every access, the first one first.
public struct BothObservers<First: EntryObserver, Second: EntryObserver>: EntryObserver {
    /// What both remember.
    public struct Entry: BitwiseCopyable, Sendable {
        @usableFromInline var first: First.Entry
        @usableFromInline var second: Second.Entry

        @inlinable
        init(first: First.Entry, second: Second.Entry) {
            self.first = first
            self.second = second
        }
    }

    @usableFromInline let first: First
    @usableFromInline let second: Second

    /// Whether one of them is.
    @inlinable public static var isActive: Bool { First.isActive || Second.isActive }

    /// The first one is told first.
    @inlinable
    public init(_ first: First, _ second: Second) {
        self.first = first
        self.second = second
    }

    /// The place that one of them knows.
    @inlinable public var site: CallSite { second.site.isKnown ? second.site : first.site }

    /// Tells both, and the first one the place that the second one knows.
    @inlinable
    public func asks(_ mode: AccessMode) -> Entry {
        Entry(first: first.asks(mode, at: second.site), second: second.asks(mode))
    }

    /// Tells both.
    @inlinable
    public func asks(_ mode: AccessMode, at site: CallSite) -> Entry {
        Entry(first: first.asks(mode, at: site), second: second.asks(mode, at: site))
    }

    /// Tells both.
    @inlinable
    public func isBlocked(_ entry: inout Entry) {
        first.isBlocked(&entry.first)
        second.isBlocked(&entry.second)
    }

    /// Tells both.
    @inlinable
    public func enters(_ entry: inout Entry) {
        first.enters(&entry.first)
        second.enters(&entry.second)
    }

    /// Tells both.
    @inlinable
    public func leaves(_ entry: Entry) {
        first.leaves(entry.first)
        second.leaves(entry.second)
    }

    /// Tells both.
    @inlinable
    public func givesUp(_ entry: Entry) {
        first.givesUp(entry.first)
        second.givesUp(entry.second)
    }
}
