public import CLatchkeySystem
public import Synchronization

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// Decides when an old value may be freed although readers take no lock and count no references.
///
/// Epoch-based reclamation (K. Fraser, "Practical lock-freedom", Cambridge 2004, section 5.2.3): a
/// reader announces the time at which it entered, and a replaced value is freed when every reader
/// that is inside entered after the replacement.
/// `docs/decisions/0008-snapshots-are-freed-by-epochs.md` says why it is not a reference count, and
/// `0025-membarrier.md` who pays for the order of a reader's accesses.
///
/// **Design.** One domain for the whole process, which has:
///
/// - ``clock``, which only goes up, by one at each replacement;
/// - one slot per thread index, padded so that no two threads share a cache line. A slot's entry is
///   0, or the clock's value when its thread entered its outermost read;
/// - a list for threads beyond the table, which have index 0 and no slot of their own. They take a
///   lock; there have to be over four thousand threads before that happens;
/// - ``held``, the replaced values that may still be read, under a lock of its own;
/// - ``notice``, what the collector wants readers to know;
/// - ``collecting``: at most one thread is the *collector*, which frees what is held.
///
/// A reader: (R1) reads the clock, (R2) stores that in its slot, (N1) reads the notice, (R3) loads
/// the pointer, uses the value, (R4) stores 0 in its slot, (N2) reads the notice. A writer, under
/// its own lock: (W1) exchanges the pointer, (W2) takes the clock's value as the old value's stamp
/// and adds one. Then, without that lock, it adds the old value to those held and becomes the
/// collector, or asks the collector to look again. The collector: reads the clock, (C1) fences,
/// (C2) reads which threads live and their slots, and frees what has a stamp *below* every entry.
/// It also has to be below the clock's value: so W1 came before C1, whenever the value was held.
///
/// **Who fences.** Two facts hold up all of this, and both need a full fence between a store and a
/// load, on the reader's side and on the writer's:
///
/// - *Entry.* R3 finds the pointer of W1, or C2 finds the entry of R2.
/// - *Exit.* N2 finds the reader's entry in the notice, or the collector, which wrote it there and
///   then looks at the slots once more, finds that the reader has left (R4).
///
/// The notice says who pays. While its bit ``fencing`` is set, readers do: they repeat R2 and R4 as
/// sequentially consistent exchanges. While it is not, they make no fence, and the collector sets
/// the bit in C1 and calls membarrier(2), which gives each thread a point in its program where a
/// full fence is. So the next collector need not call it again. A reader that has fenced
/// ``fencedReadsMax`` times clears the bit. Where membarrier(2) is missing it is never cleared.
///
/// *Entry, argued.* Sequentially consistent are W1, the collector's accesses to the notice, the
/// clearing of the bit, C2, the fencing exchange, R3, and the changes of the set of threads that
/// live. N1 acquires. There is one collector at a time, and each sees what the one before saw. The
/// reader's thread came into the set before R2.
///
/// 1. N1 found the bit set: the exchange is between N1 and R3. Either R3 comes before W1 in the
///    single order, and then so does the exchange, and C2, after W1, finds it; or R3 finds W1.
/// 2. N1 found it cleared, and this collector or one since W1 set the bit: it also called
///    membarrier(2) after W1. If R2 came before the thread's point, C2 finds it. Else R3 came after
///    the point and finds W1.
/// 3. N1 found it cleared, and the collector found it set: let M be the call of membarrier(2) by
///    the collector who had set it. If R2 came before the point of M, C2 finds it. Else N1 came
///    after that point, so it found the notice as some reader left it who cleared the bit later
///    than the collector read it, and the collector read it after W1. So R3 came after W1.
///
/// If C2 finds the entry: R1 came before W2, because a reader that had read the clock after W2
/// (acquiring, of a releasing addition) would have found W1's pointer in R3. So the entry is not
/// above the stamp and holds the value. If it finds something later, or not the thread, then R4, a
/// later R2 (both releasing), or the thread's end, came before, and C2 acquires it: the reader was
/// done with the value. On arm64 as on x86-64: nothing rests on the order of a plain store and a
/// later load but on the exchange or on membarrier(2).
///
/// *Exit* is the same argument with R4 for R2, N2 for N1 and R3, and the collector's exchange of
/// the notice for W1. N2 is one load: what it finds of the bit and of the entry is of one moment.
///
/// **When it is freed.** The collector writes the entry of the first reader inside into the notice,
/// looks again, and goes on if that reader has left meanwhile. Else the reader finds its entry in
/// the notice when it leaves and becomes the collector, or asks the one there is. So a value that
/// no reader holds is freed by whoever ended that: the write, or the reader that left. It waits for
/// nobody else, except a collector that is at work, which frees it too.
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
    @usableFromInline let clock = Atomic<UInt64>(1)

    /// Twice the entry of the reader that the held values wait for, 0 if there is none, and the bit
    /// ``fencing``.
    @usableFromInline let notice = Atomic<UInt64>(Epochs.fencing)

    /// Zeroed memory, which is the bit pattern of a slot outside.
    @usableFromInline let slots: UnsafeMutableRawPointer
    private let memory: UnsafeMutableRawPointer

    let outsiders = Outsiders()

    /// Nil if readers have to fence.
    let barrier: (@Sendable () -> Void)?

    /// The values that were replaced and may still be read, in the order of their stamps.
    var held: [Replaced] = []
    /// Guards ``held``.
    let holding = AdaptiveLock()
    /// ``idle``, ``busy`` while a thread is the collector, ``asked`` if it has to look again.
    let collecting = Atomic<UInt8>(Epochs.idle)

    static var idle: UInt8 { 0 }
    static var busy: UInt8 { 1 }
    static var asked: UInt8 { 2 }

    /// ``held`` keeps memory for this many values when it becomes empty.
    static var roomKept: Int { 256 }

    /// The bit of ``notice`` that tells readers to fence.
    @usableFromInline static var fencing: UInt64 { 1 }

    /// A thread's reads that fence before it frees all readers from that.
    ///
    /// A call of membarrier(2) interrupts the other processors and takes up to 15 µs. A read saves
    /// some nanoseconds by it. So many reads share one call: at most 4 ns for each.
    static var fencedReadsMax: UInt64 { 4096 }

    /// Two lines of 64 bytes: processors fetch them in pairs.
    @usableFromInline static var slotStride: Int { 128 }

    /// The heavy half of the fence, if this process has it.
    static let processBarrier: (@Sendable () -> Void)? = {
        guard latchkey_system_barrier_prepare() else {
            return nil
        }
        return {
            guard latchkey_system_barrier() else {
                fatalError("Latchkey: membarrier(2) was prepared, and is refused now.")
            }
        }
    }()

    /// A domain of its own is for tests: readers elsewhere in the process do not count in it.
    init(barrier: (@Sendable () -> Void)? = Epochs.processBarrier) {
        // From calloc, not from an aligned allocation: pages that no thread's index reaches are
        // never touched and so never resident.
        let count = Int(LATCHKEY_SYSTEM_THREADS_MAX) + 1
        guard let memory = unsafe calloc(count, Self.slotStride) else {
            fatalError("Latchkey: calloc failed for the table of readers.")
        }
        unsafe self.memory = memory
        unsafe slots = memory.alignedUp(toMultipleOf: Self.slotStride)
        self.barrier = barrier
    }

    /// Nobody is inside any more: readers keep the domain.
    deinit {
        for value in held {
            value.free()
        }
        unsafe free(memory)
    }

    func slot(at index: Int) -> UnsafeMutablePointer<ReaderSlot> {
        unsafe (slots + index * Self.slotStride).assumingMemoryBound(to: ReaderSlot.self)
    }
}

extension Epochs {
    /// Says that the calling thread is about to read.
    @inlinable
    @inline(__always)
    func enter() -> Reading {
        let index = Int(latchkey_system_thread_index())
        guard index != 0 else {
            return enterOutside()
        }
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

    /// Says that the calling thread has read, and frees what waited for that.
    @inlinable
    @inline(__always)
    func leave(_ reading: Reading) {
        if let slot = unsafe reading.slot {
            unsafe slot.pointee.entry.store(0, ordering: .releasing)  // R4
            latchkey_system_keep_order()
            // Relaxed: what it reads decides by itself.
            guard notice.load(ordering: .relaxed) != 0 else {  // N2
                return
            }
        }
        leaveSlowly(reading)
    }

    /// The same as ``enter()`` for a thread without an index.
    @usableFromInline @inline(never)
    func enterOutside() -> Reading {
        unsafe Reading(slot: nil, entry: outsiders.enter(clock))
    }

    /// The reader's half of the fence, between R2 and R3.
    @usableFromInline @inline(never)
    func fence(_ slot: UnsafeMutablePointer<ReaderSlot>, _ entry: UInt64) {
        _ = unsafe slot.pointee.entry.exchange(entry, ordering: .sequentiallyConsistent)
        guard barrier != nil else {
            return
        }
        // Relaxed: only this thread uses the count.
        let count = unsafe slot.pointee.fencedReads.load(ordering: .relaxed) + 1
        unsafe slot.pointee.fencedReads.store(count % Self.fencedReadsMax, ordering: .relaxed)
        if count == Self.fencedReadsMax {
            stopFencing()
        }
    }

    /// Lets readers go without a fence until the next collection.
    func stopFencing() {
        precondition(barrier != nil, "Readers have to fence if nobody else can.")
        notice.bitwiseAnd(~Self.fencing, ordering: .sequentiallyConsistent)
    }

    /// The rest of ``leave(_:)`` if there is a notice, or no slot.
    @usableFromInline @inline(never)
    func leaveSlowly(_ reading: Reading) {
        guard reading.entry != 0 else {
            return
        }
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
        if reading.entry <= word / 2 {
            ask()
        }
    }
}

/// What one thread tells of itself: a cache line.
@usableFromInline
struct ReaderSlot: ~Copyable {
    /// 0, or the clock's value when the thread entered.
    @usableFromInline let entry: Atomic<UInt64>
    /// The reads that fenced since the thread last freed all from that.
    @usableFromInline let fencedReads: Atomic<UInt64>
}

/// One thread's stay inside, from ``Epochs/enter()`` to ``Epochs/leave(_:)``.
///
/// SAFETY: `@safe` because the slot is the domain's, and only the domain uses it.
@safe
@usableFromInline
struct Reading {
    /// Nil for a nested read, and for a thread that has no index and so no slot.
    @usableFromInline let slot: UnsafeMutablePointer<ReaderSlot>?
    /// 0 for a nested read.
    @usableFromInline let entry: UInt64

    @inlinable
    init(slot: UnsafeMutablePointer<ReaderSlot>?, entry: UInt64) {
        unsafe self.slot = slot
        self.entry = entry
    }
}
