internal import CLatchkeySystem
internal import Synchronization

/// What writers do, and the collector. ``Epochs`` has the design.
extension Epochs {
    /// The stamp of a value that was replaced just now.
    @usableFromInline
    func replaced() -> UInt64 {
        clock.add(1, ordering: .sequentiallyConsistent).oldValue  // W2
    }

    /// Frees a replaced value: now, or when the last reader who may hold it leaves.
    ///
    /// Called without a lock, because a value's `deinit` is somebody else's code and may come back
    /// here.
    @usableFromInline
    func discard(_ value: Replaced) {
        guard startsCollecting() else {
            hold(value)
            return ask()
        }
        fence()  // C1
        if value.stamp < oldestEntry() {  // C2
            if !endsCollecting() {
                collect()
            }
            value.free()
        } else {
            hold(value)
            collect()
        }
    }

    private func hold(_ value: Replaced) {
        holding.lock()
        if let last = held.last, last.stamp > value.stamp {
            // Another writer came between W2 and here.
            let index = held.firstIndex { $0.stamp > value.stamp } ?? held.endIndex
            held.insert(value, at: index)
        } else {
            held.append(value)
        }
        holding.unlock()
    }

    /// Becomes the collector if there is none.
    ///
    /// Acquiring and releasing, as all that changes this word: a collector sees what the one before
    /// saw, and what a thread did before it asked.
    private func startsCollecting() -> Bool {
        collecting.compareExchange(
            expected: Self.idle,
            desired: Self.busy,
            ordering: .acquiringAndReleasing
        ).exchanged
    }

    /// Stops being the collector, unless a thread asked for another look meanwhile.
    private func endsCollecting() -> Bool {
        let isIdle = collecting.compareExchange(
            expected: Self.busy,
            desired: Self.idle,
            ordering: .acquiringAndReleasing
        ).exchanged
        if !isIdle {
            _ = collecting.exchange(Self.busy, ordering: .acquiringAndReleasing)
        }
        return isIdle
    }

    /// Has the held values looked at.
    ///
    /// Never waits: if there is a collector, that one does it.
    func ask() {
        if collecting.exchange(Self.asked, ordering: .acquiringAndReleasing) == Self.idle {
            collect()
        }
    }

    /// Looks at the held values; the caller is the collector and is not after this.
    ///
    /// Frees in each round, so that what other threads replace meanwhile does not pile up. While
    /// they do so without a pause, this goes on.
    private func collect() {
        repeat {
            var freed: [Replaced] = []
            takeUnread(&freed)
            for value in freed {
                value.free()
            }
        } while !endsCollecting()
    }

    /// Moves what no reader can hold from those held, and lets the first reader inside know if some
    /// wait for it.
    private func takeUnread(_ freed: inout [Replaced]) {
        var awaited = notice.load(ordering: .sequentiallyConsistent) / 2
        while true {
            let now = clock.load(ordering: .acquiring)
            fence()  // C1
            let oldest = oldestEntry()  // C2
            let first = take(below: min(oldest, now), &freed)
            // Whoever holds one that was replaced later asks for another look.
            let next = first < now ? oldest : 0
            guard next != awaited else {
                return
            }
            notify(awaiting: next)
            guard next != 0 else {
                return
            }
            awaited = next
        }
    }

    /// Moves what has a stamp below `limit` from those held; returns the first stamp that remains.
    private func take(below limit: UInt64, _ freed: inout [Replaced]) -> UInt64 {
        holding.lock()
        defer { holding.unlock() }
        guard let end = held.firstIndex(where: { $0.stamp >= limit }) else {
            freed += held
            held.removeAll(keepingCapacity: held.count <= Self.roomKept)
            return .max
        }
        if end > 0 {
            freed += held[..<end]
            held.removeSubrange(..<end)
        }
        return held[0].stamp
    }

    /// The collector's half of the fence.
    ///
    /// Either readers fence already, or they do from now on.
    private func fence() {
        let word = notice.load(ordering: .sequentiallyConsistent)
        if word & Self.fencing == 0 {
            notify(awaiting: word / 2)
        }
    }

    /// Tells readers who is awaited and to fence, and fences for those that did not.
    private func notify(awaiting entry: UInt64) {
        let old = notice.exchange(2 * entry | Self.fencing, ordering: .sequentiallyConsistent)
        if old & Self.fencing == 0, let barrier {
            barrier()
        }
    }

    /// The entry of the reader who came first of those inside, or `UInt64.max`.
    func oldestEntry() -> UInt64 {
        var oldest = outsiders.oldestEntry()
        Self.forEachIndex { index in
            let entry = unsafe slot(at: index).pointee.entry.load(ordering: .sequentiallyConsistent)
            if entry != 0 {
                oldest = min(oldest, entry)
            }
        }
        return oldest
    }

    /// Calls `body` with the index of each thread that lives and has one.
    static func forEachIndex(_ body: (Int) -> Void) {
        var groups = latchkey_system_thread_groups()
        while groups != 0 {
            let group = groups.trailingZeroBitCount
            groups &= groups &- 1
            var members = latchkey_system_thread_group(UInt32(group))
            while members != 0 {
                body(group * 64 + members.trailingZeroBitCount)
                members &= members &- 1
            }
        }
    }
}

/// A value that was replaced, and how to free it.
///
/// SAFETY: `@safe` because the address is used once, by `dispose`, which knows its type.
@safe
@usableFromInline
struct Replaced {
    let address: UnsafeMutableRawPointer
    let stamp: UInt64
    let dispose: @Sendable (UnsafeMutableRawPointer) -> Void

    @usableFromInline
    init(
        _ address: UnsafeMutableRawPointer,
        stamp: UInt64,
        _ dispose: @escaping @Sendable (UnsafeMutableRawPointer) -> Void
    ) {
        unsafe self.address = address
        self.stamp = stamp
        unsafe self.dispose = dispose
    }

    func free() {
        unsafe dispose(address)
    }
}
