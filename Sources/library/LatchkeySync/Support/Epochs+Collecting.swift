internal import CLatchkeySystem
internal import Dispatch
internal import Synchronization

/// The parts of writers and of the collector. ``Epochs`` has the design.
extension Epochs {
    /// The stamp of a value that was replaced just now.
    @usableFromInline func replaced() -> UInt64 {
        clock.add(1, ordering: .sequentiallyConsistent).oldValue  // W2
    }

    /// Frees a replaced value now, unless a reader may hold it: then when that one has left.
    ///
    /// Called without a lock, because the `deinit` of a value is the program's code and may come
    /// back here.
    @usableFromInline func discard(_ value: Replaced) {
        guard !frees(value) else { return }
        holding.lock()
        held.insert(value)
        holding.unlock()
        ask()
    }

    /// Frees a replaced value, and nothing else, unless a reader may hold it; false if one may.
    func frees(_ value: Replaced) -> Bool {
        fence()  // C1
        guard value.stamp < oldestEntry() else { return false }  // C2
        value.free()
        return true
    }

    /// Makes a collector look at the held values.
    ///
    /// Never waits: if there is a collector, it looks.
    ///
    /// Acquiring and releasing, like all changes of this word: a collector sees what the one before
    /// saw, and what a thread did before it asked.
    ///
    /// - Parameter count: The most values that the calling thread frees.
    func ask(freesAtMost count: Int = Epochs.freedAtOnceMax) {
        var freed: [Replaced] = []
        var looks = 0
        while collecting.exchange(Self.asked, ordering: .acquiringAndReleasing) == Self.idle {
            // The caller is the collector from here to the exchange with `idle`.
            _ = collecting.exchange(Self.busy, ordering: .acquiringAndReleasing)
            let isMore = takeUnread(count, &freed)
            let word = collecting.exchange(Self.idle, ordering: .acquiringAndReleasing)
            guard isMore || word == Self.asked else { break }
            looks += 1
            guard !isMore, looks < Self.looksMax else {
                askLater()
                break
            }
        }
        for value in freed {
            value.free()
        }
    }

    /// Makes a job ask, unless a job is due that has not begun.
    private func askLater() {
        guard !isJobDue.exchange(true, ordering: .acquiringAndReleasing) else { return }
        Self.queue.async { [self] in
            _ = isJobDue.exchange(false, ordering: .acquiringAndReleasing)
            ask(freesAtMost: Self.freedByJobMax)
            holding.lock()
            held.trim()
            holding.unlock()
        }
    }

    /// Moves what no reader can hold from those held, and lets the first reader inside know if some
    /// wait for it.
    ///
    /// It ends: in each round, one more reader of the first value has left, or more values were
    /// moved.
    ///
    /// - Returns: Whether more could be moved, but `count` were.
    private func takeUnread(_ count: Int, _ freed: inout [Replaced]) -> Bool {
        var awaited = notice.load(ordering: .sequentiallyConsistent) / Self.entryUnit
        while true {
            let now = clock.load(ordering: .acquiring)
            fence()  // C1
            let oldest = oldestEntry()  // C2
            let limit = min(oldest, now)
            holding.lock()
            let first = held.take(below: limit, until: count, &freed)
            holding.unlock()
            guard first >= limit else { return true }
            // A reader of a value that was replaced later asks for another look.
            let next = first < now ? oldest : 0
            guard next != awaited else { return false }
            notify(awaiting: next)
            guard next != 0 else { return false }
            awaited = next
        }
    }

    /// The half of the fence for threads that look at the slots.
    ///
    /// Either readers fence already, or they do from now on.
    private func fence() {
        guard notice.load(ordering: .sequentiallyConsistent) & Self.fenced == 0 else { return }
        endFence(notice.bitwiseOr(Self.fencing, ordering: .sequentiallyConsistent).oldValue)
    }

    /// Tells readers which entry is awaited, and to fence; fences for those that did not.
    private func notify(awaiting entry: UInt64) {
        var word = notice.load(ordering: .relaxed)
        while true {
            let (exchanged, original) = notice.compareExchange(
                expected: word,
                desired: entry * Self.entryUnit | word & Self.fenced | Self.fencing,
                ordering: .sequentiallyConsistent
            )
            if exchanged { return endFence(word) }
            word = original
        }
    }

    /// Fences for the readers that did not, after the bit ``fencing`` was set in the notice.
    ///
    /// The thread that set the bit then sets ``fenced``; any other thread has to fence as well,
    /// because that thread may not have fenced yet.
    private func endFence(_ old: UInt64) {
        guard old & Self.fenced == 0, let barrier else { return }
        barrier()
        if old & Self.fencing == 0 {
            notice.bitwiseOr(Self.fenced, ordering: .sequentiallyConsistent)
        }
    }

    /// The entry of the first reader that is still inside, or `UInt64.max`.
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
