internal import CLatchkeySystem
internal import Dispatch
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
/// which side pays for the order of a reader's accesses.
///
/// **Design.** One domain for the whole process, which has:
///
/// - ``clock``, which only goes up, by one at each replacement;
/// - one slot per thread index, padded so that no two threads share a cache line. A slot's entry is
///   0, or the clock's value when its thread entered its outermost read;
/// - a list for threads beyond the table, which have index 0 and no slot of their own. They take a
///   lock; there have to be over four thousand threads before that happens;
/// - ``held``, the replaced values that may still be read, under a lock of its own;
/// - ``notice``, the message to readers from the threads that look at the slots;
/// - ``collecting``: at most one thread is the *collector*, which decides which of the held values
///   are freed.
///
/// A reader: (R1) reads the clock, (R2) stores that in its slot, (N1) reads the notice, (R3) loads
/// the pointer, uses the value, (R4) stores 0 in its slot, (N2) reads the notice. A writer, under
/// its own lock: (W1) exchanges the pointer, (W2) takes the clock's value as the old value's stamp
/// and adds one. Then, without that lock: (C1) fences, (C2) reads which threads live and their
/// slots. If the stamp is *below* every entry, it frees the old value. Else it adds the value to
/// the held ones and becomes the collector, or asks the collector to look again. The collector:
/// reads the clock, (C1), (C2), and takes out the values with a stamp below every entry. The stamp
/// also has to be below the clock's value: so W1 came before C1, whenever the value was held.
///
/// **The fence.** All of this rests on two facts, and both need a full fence between a store and a
/// load, on the reader's side and on the other one:
///
/// - *Entry.* R3 finds the pointer of W1, or C2 finds the entry of R2.
/// - *Exit.* N2 finds the reader's entry in the notice, or the collector, which wrote it there and
///   then looks at the slots once more, finds that the reader has left (R4).
///
/// The notice says which side pays. While its bit ``fencing`` is set, readers do: they repeat R2
/// and R4 as sequentially consistent exchanges. While it is not, they make no fence. A thread that
/// is about to look at the slots then sets it in C1 and calls membarrier(2), which gives each
/// thread a point in its program where a full fence is, and after that sets the bit ``fenced``. A
/// thread that finds ``fenced`` set need not call membarrier(2); one that finds ``fencing`` alone,
/// set by another thread, calls it too. A reader that has fenced ``fencedReadsMax`` times clears
/// both bits in one step, and only if both are set. So between two clearings one thread sets
/// ``fenced``. Where membarrier(2) is missing both bits stay set.
///
/// *Entry, argued.* Sequentially consistent are W1, the accesses to the notice by threads that look
/// at the slots, the clearing of the bits, C2, the fencing exchange, R3, and the changes of the set
/// of threads that live. N1 acquires. The reader's thread came into the set before R2. If the value
/// was held, the collector's clock was read (acquiring) after W2, so W1 came before C1.
///
/// 1. N1 found ``fencing`` set: the exchange is between N1 and R3. Either R3 comes before W1 in the
///    single order, and then so does the exchange, and C2, after W1, finds it; or R3 finds W1.
/// 2. N1 found it cleared, and C1 called membarrier(2): that was after W1. If R2 came before the
///    thread's point, C2 finds it. Else R3 came after the point and finds W1.
/// 3. N1 found it cleared, and C1 found ``fenced`` set: let M be the call of membarrier(2) by the
///    thread that had set it. If R2 came before the point of M, C2 finds it. Else N1 came after
///    that point, so it found the notice as left by some reader that cleared the bits after C1 had
///    read it, and C1 read it after W1. So R3 came after W1.
///
/// If C2 finds the entry: R1 came before W2, because a reader that had read the clock after W2
/// (acquiring, of a releasing addition) would have found W1's pointer in R3. So the entry is not
/// above the stamp and holds the value. If it finds something later, or not the thread, then R4, a
/// later R2 (both releasing), or the thread's end, came before, and C2 acquires it: the reader was
/// done with the value. On arm64 as on x86-64: the argument rests on the exchange or on
/// membarrier(2), never on the order of a plain store and a later load.
///
/// *Exit* is the same argument with R4 for R2, N2 for N1 and R3, and the collector's change of
/// the notice for W1. N2 is one load: the bits and the entry that it finds are of one moment.
///
/// **When a value is freed, and by which thread.** A value that no reader holds when it is replaced
/// is freed by its writer. For the others the collector writes the entry of the first reader inside
/// into the notice, looks again, and goes on if that reader has left meanwhile. Else the reader
/// finds its entry in the notice when it leaves and becomes the collector, or asks the one there
/// is.
///
/// No thread collects for long. A collector looks at most twice, takes at most ``freedAtOnceMax``
/// values out, and frees them when it is not the collector any more. If more is to be done, because
/// more values could be freed or a thread asked after the second look, it submits a job to
/// ``queue``, which asks like any thread. So as long as a value is left that no reader holds, a
/// thread is the collector, or a job is due. `docs/decisions/0008-snapshots-are-freed-by-epochs.md`
/// has the reasons.
///
/// A nested read finds its thread's slot taken and leaves it alone: the outer entry is older and
/// holds more.
///
/// SAFETY: `@safe`, `@unchecked Sendable` because the table lives as long as the domain, which
/// every reader keeps, and its words are atomic. `held` is used only while `holding` is held.
@safe
@usableFromInline final class Epochs: @unchecked Sendable {
    /// One for all: a thread has one slot however many values it reads.
    @usableFromInline static let domain = Epochs()

    /// 0 means "not inside" in a slot, so the clock starts at 1.
    @usableFromInline let clock = Atomic<UInt64>(1)

    /// Four times the entry of the reader that the held values wait for, 0 if there is none, and
    /// the bits ``fencing`` and ``fenced``.
    @usableFromInline let notice = Atomic<UInt64>(Epochs.fencing | Epochs.fenced)

    /// Zeroed memory, which is the bit pattern of a slot outside.
    @usableFromInline let slots: UnsafeMutableRawPointer
    private let memory: UnsafeMutableRawPointer

    let outsiders = Outsiders()

    /// Nil if readers have to fence.
    let barrier: (@Sendable () -> Void)?

    /// The values that were replaced and may still be read.
    var held = HeldValues()
    /// Guards ``held``.
    let holding = AdaptiveLock()
    /// ``idle``, ``busy`` while a thread is the collector, ``asked`` if it has to look again.
    let collecting = Atomic<UInt8>(Epochs.idle)
    /// Whether a job is due on ``queue``.
    let isJobDue = Atomic<Bool>(false)

    /// The queue that collects the rest.
    ///
    /// It has no target queue, so it has a thread while there is work, and needs none of the
    /// program's.
    static let queue = DispatchQueue(label: "latchkey.snapshots")

    static var idle: UInt8 { 0 }
    static var busy: UInt8 { 1 }
    static var asked: UInt8 { 2 }

    /// How often one collector looks at most.
    static var looksMax: Int { 2 }
    /// The most values that one collector frees, and so the longest delay of a read that leaves.
    static var freedAtOnceMax: Int { 32 }
    /// The same for a job, which delays no other thread.
    static var freedByJobMax: Int { 1024 }

    /// The bit of ``notice`` that tells readers to fence.
    @usableFromInline static var fencing: UInt64 { 1 }

    /// The bit of ``notice`` that says that a full fence came after the accesses of each reader
    /// that did not fence.
    static var fenced: UInt64 { 2 }

    /// The factor of the entry in ``notice``.
    static var entryUnit: UInt64 { 4 }

    /// The reads of a thread that fence before it ends fencing for all readers.
    ///
    /// A call of membarrier(2) interrupts the other processors and takes up to 15 µs. A read that
    /// does not fence saves some nanoseconds. So many reads share one call: at most 4 ns for each.
    static var fencedReadsMax: UInt64 { 4096 }

    /// Two lines of 64 bytes: processors fetch them in pairs.
    @usableFromInline static var slotStride: Int { 128 }

    /// The heavy half of the fence, if this process has it.
    static let processBarrier: (@Sendable () -> Void)? = {
        guard latchkey_system_barrier_prepare() else { return nil }
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

    /// No reader is inside any more: readers keep the domain.
    deinit {
        for value in held.all {
            value.free()
        }
        unsafe free(memory)
    }

    func slot(at index: Int) -> UnsafeMutablePointer<ReaderSlot> {
        unsafe (slots + index * Self.slotStride).assumingMemoryBound(to: ReaderSlot.self)
    }
}
