public import Synchronization

/// The version of a value that readers of a snapshot find.
///
/// **Design.** `address` leads to a version that is never changed: readers use it, and the next
/// writer copies it. The guarded value has the same value, for accesses after ``retire()``; readers
/// never look at it. Each writer exchanges `address`, under the writers' lock. ``Epochs`` decides
/// when an old one is freed.
///
/// SAFETY: `@safe`, `@unchecked Sendable` because a version is freed by `Epochs` or by `deinit`,
/// when no reader can have it, `free` is written once, before the first access, and `replaced`
/// belongs to the holder of the writers' lock.
@safe
@usableFromInline final class PublishedValue: @unchecked Sendable {
    @usableFromInline let epochs: Epochs
    @usableFromInline let address = unsafe Atomic<UnsafeMutableRawPointer?>(nil)

    /// Frees a version, whose type this object does not know.
    @usableFromInline var free: (@Sendable (UnsafeMutableRawPointer) -> Void)?

    /// The version that the writer inside has replaced.
    @usableFromInline var replaced: Replaced?

    @usableFromInline init(_ epochs: Epochs) {
        self.epochs = epochs
    }

    deinit {
        if let last = unsafe address.load(ordering: .acquiring) {
            unsafe free?(last)
        }
    }

    /// Publishes the first version, before the first access, or the first one after ``retire()``.
    @inlinable func begin<Value>(_ value: consuming Value) {
        let first = unsafe UnsafeMutableRawPointer(Self.make(value))
        guard unsafe address.exchange(first, ordering: .acquiringAndReleasing) == nil else {
            fatalError("Latchkey: a 'snapshot' strategy guards one value and was given a second.")
        }
        unsafe free = Self.free(Value.self)
    }

    /// The version to read.
    ///
    /// The caller has entered ``epochs``, or keeps writers out.
    @inlinable @inline(__always)
    func version<Value: ~Copyable>(of value: Value.Type) -> UnsafeMutablePointer<LentValue<Value>> {
        // Sequentially consistent: R3 in ``Epochs``. It also acquires what the writer stored.
        guard let version = unsafe address.load(ordering: .sequentiallyConsistent) else {
            preconditionFailure("A snapshot was read before it began.")
        }
        return unsafe version.assumingMemoryBound(to: LentValue<Value>.self)
    }

    /// Makes the value the one that readers find, once in an access.
    ///
    /// The caller holds the writers' lock.
    @inlinable func replace<Value>(by value: consuming Value) {
        // Sequentially consistent: W1 in ``Epochs``. It also releases the value to readers.
        let old = unsafe address.exchange(
            UnsafeMutableRawPointer(Self.make(value)),
            ordering: .sequentiallyConsistent
        )
        guard let old = unsafe old else {
            preconditionFailure("A snapshot was written before it began.")
        }
        replaced = unsafe Replaced(old, stamp: epochs.replaced(), Self.free(Value.self))
    }

    /// Leaves readers without a version.
    ///
    /// It is freed at once unless a reader has it. No object is destroyed by that, because the
    /// guarded value is the same, and an access that writes it in its place need not copy it.
    ///
    /// The caller holds the writers' lock. Sequentially consistent: W1 in ``Epochs``.
    func retire() {
        guard let old = unsafe address.exchange(nil, ordering: .sequentiallyConsistent),
            let free = unsafe free
        else { return }
        let version = unsafe Replaced(old, stamp: epochs.replaced(), free)
        if !epochs.frees(version) { replaced = version }
    }

    /// The version to discard after the writers' lock is released.
    @inlinable func takeReplaced() -> Replaced? {
        guard let replaced else { return nil }
        self.replaced = nil
        return replaced
    }

    @inlinable
    static func make<Value>(_ value: consuming Value) -> UnsafeMutablePointer<LentValue<Value>> {
        let version = UnsafeMutablePointer<LentValue<Value>>.allocate(capacity: 1)
        unsafe version.initialize(to: LentValue(value))
        return unsafe version
    }

    @inlinable
    static func free<Value>(_ type: Value.Type) -> @Sendable (UnsafeMutableRawPointer) -> Void {
        { address in
            let version = unsafe address.assumingMemoryBound(to: LentValue<Value>.self)
            unsafe version.deinitialize(count: 1)
            unsafe version.deallocate()
        }
    }
}
