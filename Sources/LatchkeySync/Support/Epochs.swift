internal import CLatchkeySystem
internal import Glibc
internal import Synchronization

/// When an old value may be freed although readers take no lock and count no references.
///
/// Epoch-based reclamation (K. Fraser, "Practical lock-freedom", Cambridge 2004, section 5.2.3): a
/// reader announces the time at which it came in, and what was replaced at some time is freed when
/// every reader that is inside came later. `docs/decisions/0008-snapshots-are-freed-by-epochs.md`
/// says why not a reference count.
///
/// **Design.** One domain for the whole process, which has:
///
/// - ``clock``, which only goes up, by one at each replacement;
/// - one slot per thread index, padded so that no two threads share a cache line. A slot is 0, or
///   the clock's value when its thread entered its outermost read. Only its thread writes to it;
/// - a list for threads beyond the table, which have index 0 and no slot of their own. They take a
///   lock; there have to be over four thousand threads before that happens.
///
/// A reader: (R1) reads the clock, (R2) stores that in its slot, (R3) loads the pointer, uses the
/// value, (R4) stores 0 in its slot. A writer, under its own lock: (W1) exchanges the pointer,
/// (W2) takes the clock's value as the old value's stamp and adds one, (W3) reads all slots, and
/// frees what has a stamp *below* every slot that is not 0.
///
/// Why nothing is freed too early. Let a reader hold an old value, so that R3 came before W1 in
/// the single order of the sequentially consistent operations R2, R3, W1 and W3. Then R2 came
/// before W3 in it, so W3 sees the reader's entry or something later in that slot. If it sees the
/// entry: R1 came before W2, because a reader that had read the clock after W2 (acquiring, of a
/// releasing addition) would have seen W1's pointer in R3. So the entry is not above the stamp and
/// holds the value. If it sees something later, then R4 (releasing) came before, and W3 acquires
/// it: the reader was done with the value.
///
/// A nested read finds its thread's slot taken and leaves it alone: the outer entry is older and
/// holds more.
///
/// SAFETY: `@safe`, `@unchecked Sendable` because the table lives as long as the domain, which
/// every reader keeps, and what is in it is atomic.
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

    deinit {
        unsafe free(memory)
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

    /// Says that the calling thread has read.
    func leave(_ reading: Reading) {
        guard reading.entry != 0 else {
            return
        }
        if let slot = unsafe reading.slot {
            unsafe slot.pointee.store(0, ordering: .releasing)  // R4
        } else {
            outsiders.leave(reading.entry)
        }
    }

    /// The stamp of a value that was replaced just now.
    func replaced() -> UInt64 {
        clock.add(1, ordering: .sequentiallyConsistent).oldValue  // W2
    }

    /// The entry of the reader who came first of those inside, or `UInt64.max`.
    func oldestEntry() -> UInt64 {
        var oldest = outsiders.oldestEntry()
        for index in 1..<max(Int(latchkey_system_thread_index_end()), 1) {
            // W3
            let entry = unsafe slot(at: index).pointee.load(ordering: .sequentiallyConsistent)
            if entry != 0 {
                oldest = min(oldest, entry)
            }
        }
        return oldest
    }

    private func slot(at index: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        unsafe (slots + index * Self.slotStride).assumingMemoryBound(to: Atomic<UInt64>.self)
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
/// The lock does what the sequentially consistent order does for slots: a reader that the writer
/// does not find in the list entered later, and so sees what the writer published before it
/// looked.
///
/// SAFETY: `@unchecked Sendable` because `entries` is used only while `lock` is held.
private final class Outsiders: @unchecked Sendable {
    private let lock = AdaptiveLock()
    private var entries: [UInt64] = []

    func enter(_ clock: borrowing Atomic<UInt64>) -> UInt64 {
        lock.lock()
        defer { lock.unlock() }
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
    }

    func oldestEntry() -> UInt64 {
        lock.lock()
        defer { lock.unlock() }
        return entries.min() ?? .max
    }
}
