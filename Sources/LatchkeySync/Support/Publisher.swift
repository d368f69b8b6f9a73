/// The writers' side of `snapshot`: their lock, and where replaced values go.
///
/// **Design.** `writer` guards the exchange of the cell's address. What was replaced goes to
/// ``Epochs`` after the lock is released.
@usableFromInline
final class Publisher: Sendable {
    @usableFromInline let epochs: Epochs
    @usableFromInline let writer = AdaptiveLock()

    @usableFromInline
    convenience init() {
        self.init(epochs: .domain)
    }

    init(epochs: Epochs) {
        self.epochs = epochs
    }

    @inlinable
    func enter<Observer: EntryObserver>(
        _ observer: Observer,
        _ mode: AccessMode
    ) -> Observer.Entry {
        var entry = observer.asks(mode)
        if !Observer.isActive {
            writer.lock()
        } else if !writer.tryLock() {
            observer.isBlocked(&entry)
            writer.lock()
        }
        observer.enters(&entry)
        return entry
    }

    /// Ends a write, which has replaced a value unless it threw.
    @inlinable
    func leave<Observer: EntryObserver>(
        _ observer: Observer,
        _ entry: Observer.Entry,
        _ replaced: Replaced? = nil
    ) {
        observer.leaves(entry)
        writer.unlock()
        if let replaced {
            epochs.discard(replaced)
        }
    }
}
