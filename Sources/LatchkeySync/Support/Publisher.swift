internal import Synchronization

/// The writers' side of `snapshot`: their lock, and the old values that readers may still hold.
///
/// **Design.** `writer` guards `retired` and the exchange of the cell's address. Values are freed
/// after the lock is released, because their `deinit` is somebody else's code and may come back
/// here. See ``Epochs`` for when that is.
///
/// SAFETY: `@unchecked Sendable` because `retired` is used only while `writer` is held.
@usableFromInline
final class Publisher: @unchecked Sendable {
    @usableFromInline let epochs: Epochs
    @usableFromInline let writer = AdaptiveLock()

    /// The stamp of the newest value in `retired`, 0 if there is none.
    ///
    /// Written under the lock.
    private let newestStamp = Atomic<UInt64>(0)
    private var retired: [Retired] = []

    @usableFromInline
    convenience init() {
        self.init(epochs: .domain)
    }

    init(epochs: Epochs) {
        self.epochs = epochs
    }

    /// Nobody can be inside any more: whoever is keeps the strategy.
    deinit {
        for value in retired {
            value.free()
        }
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

    /// Keeps a replaced value until it can be freed.
    ///
    /// The calling thread holds the lock.
    @usableFromInline
    func retire(
        _ address: UnsafeMutableRawPointer,
        _ dispose: @escaping @Sendable (UnsafeMutableRawPointer) -> Void
    ) {
        let stamp = epochs.replaced()
        unsafe retired.append(Retired(address: address, stamp: stamp, dispose: dispose))
        newestStamp.store(stamp, ordering: .relaxed)
    }

    /// Releases the writers' lock and frees what no reader can hold any more.
    @usableFromInline
    func unlock() {
        var freed: [Retired] = []
        if !retired.isEmpty {
            let oldest = epochs.oldestEntry()
            let kept = retired.firstIndex { $0.stamp >= oldest } ?? retired.endIndex
            freed = Array(retired[..<kept])
            retired.removeSubrange(..<kept)
            if retired.isEmpty {
                newestStamp.store(0, ordering: .relaxed)
            }
        }
        writer.unlock()
        for value in freed {
            value.free()
        }
    }

    /// Ends a read, and frees old values if it was this read that they waited for.
    ///
    /// Relaxed: a stamp that is missed here belongs to a write that looks at the slots later than
    /// this, or is freed by the next one.
    @usableFromInline
    func leave(_ reading: Reading) {
        epochs.leave(reading)
        if reading.entry != 0 && reading.entry <= newestStamp.load(ordering: .relaxed) {
            reclaim()
        }
    }

    private func reclaim() {
        if writer.tryLock() {
            unlock()
        }
    }
}

/// A value that was replaced, and how to free it.
///
/// SAFETY: `@safe` because the address is used once, by `dispose`, which knows its type.
@safe
private struct Retired {
    let address: UnsafeMutableRawPointer
    let stamp: UInt64
    let dispose: @Sendable (UnsafeMutableRawPointer) -> Void

    func free() {
        unsafe dispose(address)
    }
}
