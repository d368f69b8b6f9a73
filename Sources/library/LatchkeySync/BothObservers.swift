/// Tells two observers of every access, the first one first.
@usableFromInline struct BothObservers<First: EntryObserver, Second: EntryObserver>: EntryObserver {
    /// The memory of both observers.
    @usableFromInline struct Entry: BitwiseCopyable, Sendable {
        @usableFromInline var first: First.Entry
        @usableFromInline var second: Second.Entry

        @inlinable init(first: First.Entry, second: Second.Entry) {
            self.first = first
            self.second = second
        }
    }

    @usableFromInline let first: First
    @usableFromInline let second: Second

    @inlinable static var isActive: Bool { First.isActive || Second.isActive }

    @inlinable init(_ first: First, _ second: Second) {
        self.first = first
        self.second = second
    }

    @inlinable func asks(_ request: AccessRequest) -> Entry {
        Entry(first: first.asks(request), second: second.asks(request))
    }

    @inlinable func isBlocked(_ entry: inout Entry) {
        first.isBlocked(&entry.first)
        second.isBlocked(&entry.second)
    }

    @inlinable func enters(_ entry: inout Entry) {
        first.enters(&entry.first)
        second.enters(&entry.second)
    }

    @inlinable func leaves(_ entry: Entry) {
        first.leaves(entry.first)
        second.leaves(entry.second)
    }

    @inlinable func givesUp(_ entry: Entry) {
        first.givesUp(entry.first)
        second.givesUp(entry.second)
    }
}
