public import CLatchkeySystem
public import Synchronization

/// The part of readers.
///
/// **Design.** ``Epochs`` has it, with the names R1 to R4, N1 and N2.
extension Epochs {
    /// Says that the calling thread is about to read.
    @inlinable @inline(__always) func enter() -> Reading {
        let index = Int(latchkey_system_thread_index())
        guard index != 0 else { return enterOutside() }
        let slot = unsafe (slots + index &* Self.slotStride)
            .assumingMemoryBound(to: ReaderSlot.self)
        // Relaxed: only this thread writes to its slot.
        guard unsafe slot.pointee.entry.load(ordering: .relaxed) == 0 else {
            return unsafe Reading(slot: nil, entry: 0)
        }
        let entry = clock.load(ordering: .acquiring)  // R1
        unsafe slot.pointee.entry.store(entry, ordering: .releasing)  // R2
        latchkey_system_keep_order()
        if notice.load(ordering: .acquiring) & Self.fencing != 0 {  // N1
            unsafe fence(slot, entry)
        }
        return unsafe Reading(slot: slot, entry: entry)
    }

    /// Says that the calling thread has read, and frees the values that waited for that.
    @inlinable @inline(__always) func leave(_ reading: Reading) {
        if let slot = unsafe reading.slot {
            unsafe slot.pointee.entry.store(0, ordering: .releasing)  // R4
            latchkey_system_keep_order()
            // Relaxed: the word alone decides.
            guard notice.load(ordering: .relaxed) != 0 else {  // N2
                return
            }
        }
        leaveSlowly(reading)
    }

    /// The same as ``enter()`` for a thread without an index.
    @usableFromInline @inline(never) func enterOutside() -> Reading {
        unsafe Reading(slot: nil, entry: outsiders.enter(clock))
    }

    /// The reader's half of the fence, between R2 and R3.
    @usableFromInline @inline(never)
    func fence(_ slot: UnsafeMutablePointer<ReaderSlot>, _ entry: UInt64) {
        _ = unsafe slot.pointee.entry.exchange(entry, ordering: .sequentiallyConsistent)
        guard barrier != nil else { return }
        // Relaxed: only this thread uses the count.
        let count = unsafe slot.pointee.fencedReads.load(ordering: .relaxed) + 1
        unsafe slot.pointee.fencedReads.store(count % Self.fencedReadsMax, ordering: .relaxed)
        if count == Self.fencedReadsMax {
            stopFencing()
        }
    }

    /// Lets readers go without a fence until a thread looks at the slots.
    ///
    /// Not while a thread is about to set ``fenced``. If the notice changes just now, a later call
    /// does it.
    func stopFencing() {
        precondition(barrier != nil, "Readers have to fence if writers cannot.")
        let word = notice.load(ordering: .relaxed)
        guard word & Self.fenced != 0 else { return }
        _ = notice.compareExchange(
            expected: word,
            desired: word & ~(Self.fencing | Self.fenced),
            ordering: .sequentiallyConsistent
        )
    }

    /// The rest of ``leave(_:)`` if there is a notice, or no slot.
    @usableFromInline @inline(never) func leaveSlowly(_ reading: Reading) {
        guard reading.entry != 0 else { return }
        var word = notice.load(ordering: .relaxed)
        if let slot = unsafe reading.slot {
            if word & Self.fencing != 0 {
                _ = unsafe slot.pointee.entry.exchange(0, ordering: .sequentiallyConsistent)
                word = notice.load(ordering: .sequentiallyConsistent)
            }
        } else {
            // Its subtraction is a full fence.
            outsiders.leave(reading.entry)
            word = notice.load(ordering: .sequentiallyConsistent)
        }
        if reading.entry <= word / Self.entryUnit {
            ask()
        }
    }
}

/// The announcements of one thread: a cache line.
@usableFromInline struct ReaderSlot: ~Copyable {
    /// 0, or the clock's value when the thread entered.
    @usableFromInline let entry: Atomic<UInt64>
    /// The reads that fenced since the thread last ended fencing for all.
    @usableFromInline let fencedReads: Atomic<UInt64>
}

/// One thread's stay inside, from ``Epochs/enter()`` to ``Epochs/leave(_:)``.
///
/// SAFETY: `@safe` because the slot is the domain's, and only the domain uses it.
@safe
@usableFromInline package struct Reading {
    /// Nil for a nested read, and for a thread that has no index and so no slot.
    @usableFromInline let slot: UnsafeMutablePointer<ReaderSlot>?
    /// 0 for a nested read.
    @usableFromInline let entry: UInt64

    @inlinable init(slot: UnsafeMutablePointer<ReaderSlot>?, entry: UInt64) {
        unsafe self.slot = slot
        self.entry = entry
    }
}
