public import LatchkeySync

/// Tells two observers of every access, the first one first.
@usableFromInline
package struct BothObservers<First: EntryObserver, Second: EntryObserver>: EntryObserver {
    @usableFromInline package struct Entry: BitwiseCopyable, Sendable {
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

    @inlinable package static var isActive: Bool { First.isActive || Second.isActive }

    @inlinable
    package init(_ first: First, _ second: Second) {
        self.first = first
        self.second = second
    }

    @inlinable
    package func asks(_ mode: AccessMode) -> Entry {
        Entry(first: first.asks(mode), second: second.asks(mode))
    }

    @inlinable
    package func isBlocked(_ entry: inout Entry) {
        first.isBlocked(&entry.first)
        second.isBlocked(&entry.second)
    }

    @inlinable
    package func enters(_ entry: inout Entry) {
        first.enters(&entry.first)
        second.enters(&entry.second)
    }

    @inlinable
    package func leaves(_ entry: Entry) {
        first.leaves(entry.first)
        second.leaves(entry.second)
    }
}
