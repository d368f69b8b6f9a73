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

    /// Tells both.
    @inlinable
    public func asks(_ request: AccessRequest) -> Entry {
        Entry(first: first.asks(request), second: second.asks(request))
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
