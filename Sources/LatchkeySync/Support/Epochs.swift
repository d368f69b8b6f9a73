internal import CLatchkeySystem
internal import Glibc
internal import Synchronization

/// Decides when an old value may be freed although readers take no lock and count no references.
///
/// Epoch-based reclamation (K. Fraser, "Practical lock-freedom", Cambridge 2004, section 5.2.3): a
/// reader announces the time at which it entered, and a replaced value is freed when every reader
/// that is inside entered after the replacement.
/// `docs/decisions/0008-snapshots-are-freed-by-epochs.md` says why it is not a reference count.
///
/// **Design.** One domain for the whole process, which has:
///
/// - ``clock``, which only goes up, by one at each replacement;
/// - one slot per thread index, padded so that no two threads share a cache line. A slot is 0, or
///   the clock's value when its thread entered its outermost read. Only its thread writes to it;
/// - a list for threads beyond the table, which have index 0 and no slot of their own. They take a
///   lock; there have to be over four thousand threads before that happens;
/// - ``held``, the replaced values that a reader may hold, under a lock of its own.
///
/// A reader: (R1) reads the clock, (R2) stores that in its slot, (R3) loads the pointer, uses the
/// value, (R4) stores 0 in its slot. A writer, under its own lock: (W1) exchanges the pointer,
/// (W2) takes the clock's value as the old value's stamp and adds one. Then, without that lock:
/// (W3) reads which threads live and their slots, and frees what has a stamp *below* every slot
/// that is not 0. What cannot be freed yet is held, and whoever frees it later does W3 again.
///
/// Why nothing is freed too early. Let a reader hold an old value, so that R3 came before W1 in
/// the single order of the sequentially consistent operations: R2, R3, W1, W3, and the changes of
/// the set of threads that live. The reader's thread came into that set before R2, and R2 came
/// before W3. So W3 finds the thread there, unless it has ended, and sees the reader's entry or
/// something later in its slot. If it sees the entry: R1 came before W2, because a reader that had
/// read the clock after W2 (acquiring, of a releasing addition) would have seen W1's pointer in
/// R3. So the entry is not above the stamp and holds the value. If it sees something later, or not
/// the thread, then R4 (releasing), or the thread's end, came before, and W3 acquires it: the
/// reader was done with the value.
///
/// Which thread frees the held values. A thread that tries to writes to ``awaited`` the entry of
/// the first reader of those inside, and tries again: if that reader has left meanwhile, it goes
/// on. Else the reader finds its own entry there when it leaves, and tries itself. The two may miss
/// each other only if the reader's R4 is not visible yet after the second try, some nanoseconds;
/// what was held for that one reader is then freed by the next write to any value.
///
/// A nested read finds its thread's slot taken and leaves it alone: the outer entry is older and
/// holds more.
///
/// SAFETY: `@safe`, `@unchecked Sendable` because the table lives as long as the domain, which
/// every reader keeps, and what is in it is atomic. `held` is used only while `holding` is held.
@safe
@usableFromInline
final class Epochs: @unchecked Sendable {
    /// One for all: a thread has one slot however many values it reads.
    @usableFromInline static let domain = Epochs()

    /// 0 means "not inside" in a slot, so the clock starts at 1.
    private let clock = Atomic<UInt64>(1)

    /// Zeroed memory, which is the bit pattern of an `Atomic` of 0.
    private let slots: UnsafeMutableRawPointer
    private let memory: UnsafeMutableRawPointer

    private let outsiders = Outsiders()

    /// The entry of the reader that the held values wait for, 0 if there are none.
    private let awaited = Atomic<UInt64>(0)

    /// The values that were replaced and may still be read, in the order of their stamps.
    private var held: [Replaced] = []
    /// Guards ``held``, and is held by whoever writes to ``awaited``.
    private let holding = AdaptiveLock()
    /// Whether somebody wanted to free what is held, and did not get the lock.
    private let isAsked = Atomic<Bool>(false)

    /// Two lines of 64 bytes: processors fetch them in pairs.
    private static let slotStride = 128

    /// A domain of its own is for tests: readers elsewhere in the process do not count in it.
    init() {
        // From calloc, not from an aligned allocation: pages that no thread's index reaches are
        // never touched and so never resident.
        let count = Int(LATCHKEY_SYSTEM_THREADS_MAX) + 1
        guard let memory = unsafe calloc(count, Self.slotStride) else {
            fatalError("Latchkey: calloc failed for the table of readers.")
        }
        unsafe self.memory = memory
        unsafe slots = memory.alignedUp(toMultipleOf: Self.slotStride)
    }

    /// Nobody is inside any more: readers keep the domain.
    deinit {
        for value in held {
            value.free()
        }
        unsafe Glibc.free(memory)
    }

    /// Says that the calling thread is about to read.
    @usableFromInline
    func enter() -> Reading {
        enter(index: Int(latchkey_system_thread_index()))
    }

    /// The same for a thread with this index.
    func enter(index: Int) -> Reading {
        guard index != 0 else {
            return unsafe Reading(slot: nil, entry: outsiders.enter(clock))
        }
        let slot = unsafe slot(at: index)
        // Relaxed: only this thread writes to its slot.
        guard unsafe slot.pointee.load(ordering: .relaxed) == 0 else {
            return unsafe Reading(slot: slot, entry: 0)
        }
        let entry = clock.load(ordering: .acquiring)  // R1
        unsafe slot.pointee.store(entry, ordering: .sequentiallyConsistent)  // R2
        return unsafe Reading(slot: slot, entry: entry)
    }

    /// Says that the calling thread has read, and frees what waited for that.
    ///
    /// Relaxed: the design above says why it may miss a writer.
    @usableFromInline
    func leave(_ reading: Reading) {
        guard reading.entry != 0 else {
            return
        }
        if let slot = unsafe reading.slot {
            unsafe slot.pointee.store(0, ordering: .releasing)  // R4
        } else {
            outsiders.leave(reading.entry)
        }
        if reading.entry <= awaited.load(ordering: .relaxed) {
            isAsked.store(true, ordering: .sequentiallyConsistent)
            freeHeld()
        }
    }

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
        let oldest = oldestEntry()
        guard value.stamp < oldest else {
            holding.lock()
            // Nearly always at the end: another writer may have come between W2 and here.
            let index = held.lastIndex { $0.stamp < value.stamp }.map { $0 + 1 } ?? 0
            held.insert(value, at: index)
            if awaited.load(ordering: .relaxed) != oldest {
                isAsked.store(true, ordering: .sequentiallyConsistent)
            }
            holding.unlock()
            return freeHeld()
        }
        value.free()
        let awaited = awaited.load(ordering: .relaxed)
        if awaited != 0 && awaited < oldest {
            isAsked.store(true, ordering: .sequentiallyConsistent)
            freeHeld()
        }
    }

    /// Frees what is held and that no reader can hold any more, if anybody asked for that.
    ///
    /// Never waits: whoever has the lock looks, after it let go, if somebody asked meanwhile.
    private func freeHeld() {
        var freed: [Replaced] = []
        while isAsked.load(ordering: .sequentiallyConsistent), holding.tryLock() {
            isAsked.store(false, ordering: .sequentiallyConsistent)
            var isSettled = false
            while !isSettled {
                let oldest = oldestEntry()
                let kept = held.firstIndex { $0.stamp >= oldest } ?? held.endIndex
                freed += held[..<kept]
                held.removeSubrange(..<kept)
                let next = held.isEmpty ? 0 : oldest
                isSettled = next == awaited.load(ordering: .relaxed)
                if !isSettled {
                    // Every reader loads the word, so it is not written in vain.
                    awaited.store(next, ordering: .sequentiallyConsistent)
                    isSettled = next == 0
                }
            }
            holding.unlock()
        }
        for value in freed {
            value.free()
        }
    }

    /// The entry of the reader who came first of those inside, or `UInt64.max`.
    func oldestEntry() -> UInt64 {
        var oldest = outsiders.oldestEntry()
        Self.forEachIndex { index in
            // W3
            let entry = unsafe slot(at: index).pointee.load(ordering: .sequentiallyConsistent)
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

    private func slot(at index: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        unsafe (slots + index * Self.slotStride).assumingMemoryBound(to: Atomic<UInt64>.self)
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

/// One thread's stay inside, from ``Epochs/enter()`` to ``Epochs/leave(_:)``.
///
/// SAFETY: `@safe` because the slot is the domain's, and only the domain uses it.
@safe
@usableFromInline
struct Reading {
    /// Nil for a thread that has no index, and so no slot, of its own.
    let slot: UnsafeMutablePointer<Atomic<UInt64>>?
    /// 0 for a nested read.
    let entry: UInt64
}

/// The readers that have no slot: an unordered list under a lock.
///
/// `count` is to them what its slot is to a reader: they add to it before they load the pointer,
/// and subtract when they are done, in the sequentially consistent order. A writer that finds it
/// above 0 takes the lock, and so finds each of their entries.
///
/// SAFETY: `@unchecked Sendable` because `entries` is used only while `lock` is held.
private final class Outsiders: @unchecked Sendable {
    private let lock = AdaptiveLock()
    private let count = Atomic<Int>(0)
    private var entries: [UInt64] = []

    func enter(_ clock: borrowing Atomic<UInt64>) -> UInt64 {
        lock.lock()
        defer { lock.unlock() }
        count.add(1, ordering: .sequentiallyConsistent)
        let entry = clock.load(ordering: .acquiring)
        entries.append(entry)
        return entry
    }

    func leave(_ entry: UInt64) {
        lock.lock()
        defer { lock.unlock() }
        guard let index = entries.firstIndex(of: entry) else {
            preconditionFailure("A reader left who had not entered.")
        }
        entries.remove(at: index)
        count.subtract(1, ordering: .sequentiallyConsistent)
    }

    func oldestEntry() -> UInt64 {
        guard count.load(ordering: .sequentiallyConsistent) > 0 else {
            return .max
        }
        lock.lock()
        defer { lock.unlock() }
        return entries.min() ?? .max
    }
}
