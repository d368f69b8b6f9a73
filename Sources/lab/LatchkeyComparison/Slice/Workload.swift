import Synchronization

/// A value and the critical sections that a program has around it, to be measured under every
/// strategy.
///
/// ```swift
/// let workload = Workload("sessions", value: [Int: String]()) { sessions, operation in
///     operation.keep(sessions[operation.key])
/// } write: { sessions, operation in
///     sessions[operation.key] = "session"
/// } check: { sessions, operations in
///     sessions.count <= operations.writes
/// }
/// ```
///
/// `--read-ratio` says how many operations read, and `--keys` and `--skew` how their keys are
/// drawn; threads, work outside and arrival are as in the built-in workload. Every operation calls
/// a closure, which takes a nanosecond under every strategy alike.
///
/// **Design.** The closures run on the threads of the run, inside the guarded section. These
/// threads share the captured variables; only the value is guarded.
public struct Workload<Value: Sendable>: Sendable {
    /// The name in reports.
    public let name: String

    @usableFromInline let bodies: WorkloadBodies<Value>

    /// Describes a workload.
    ///
    /// - Parameters:
    ///   - name: 1 to 60 printable characters, for reports.
    ///   - value: Makes the value that each repeat begins with. It should be a value: `snapshot`
    ///     would copy only the reference of an object, and writers would change the object under
    ///     readers.
    ///   - read: An operation that only reads.
    ///   - write: An operation that changes the value.
    ///   - check: Whether the value is right at the end of a repeat. It is called outside the
    ///     measured time, when no other thread uses the value.
    public init(
        _ name: String,
        value: @autoclosure @escaping @Sendable () -> Value,
        read: @escaping @Sendable (Value, WorkloadOperation) -> Void,
        write: @escaping @Sendable (inout Value, WorkloadOperation) -> Void,
        check: (@Sendable (Value, WorkloadCounts) -> Bool)? = nil
    ) {
        self.name = name
        bodies = WorkloadBodies(value: value, read: read, write: write, check: check)
    }
}

/// The operations of a workload in one repeat, with its warm-up.
public struct WorkloadCounts: Sendable {
    /// Calls of the body that reads.
    public let reads: Int
    /// Calls of the body that writes.
    public let writes: Int
}

/// One operation of a workload, whose body can vary by it.
///
/// Each repeat has the same operations, drawn from `--seed`.
public struct WorkloadOperation: Sendable {
    /// From 0 to one less than `--keys`, drawn as `--skew` says.
    public let key: Int
    /// The number of the operation among those of its thread, from 0.
    public let number: Int
    /// The number of the thread, from 0.
    public let thread: Int

    // SAFETY: an object of this type is never freed.
    @usableFromInline unowned(unsafe) let expectations: Expectations

    @inlinable
    init(key: Int, number: Int, thread: Int, _ expectations: Expectations) {
        self.key = key
        self.number = number
        self.thread = thread
        unsafe self.expectations = expectations
    }

    /// A number that looks random and depends on the thread and the number of the operation.
    @inlinable public var random: UInt64 {
        // The finalizer of SplitMix64.
        var mixed = UInt64(truncatingIfNeeded: number &+ 1) &* 0x9E37_79B9_7F4A_7C15
        mixed &+= UInt64(truncatingIfNeeded: thread) &* 0xD1B5_4A32_D192_ED03
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    /// Says what must be true inside the section.
    ///
    /// If it is not, the strategy fails its check. Its cost is negligible while it is true.
    @inlinable
    public func expect(_ condition: Bool) {
        if !condition {
            unsafe expectations.fail()
        }
    }

    /// Uses a result, so that the compiler has to compute it.
    @inline(never)
    public func keep<Kept>(_ result: borrowing Kept) {
        Sink.keep(0)
    }
}

/// Counts failed expectations.
///
/// Never freed, because threads that hang in a strategy may still use it after the run.
@usableFromInline
final class Expectations: Sendable {
    private let failures = Atomic<Int>(0)

    init() {
        _ = unsafe Unmanaged.passRetained(self)
    }

    @usableFromInline
    func fail() { failures.add(1, ordering: .relaxed) }

    /// The number of failures since the last call.
    func take() -> Int { failures.exchange(0, ordering: .relaxed) }
}

/// The closures of a workload in one object.
///
/// Never freed, as ``Expectations``. So the timed loop need not retain it: all threads would write
/// to its one count, twice for each operation, and that costs as much as a lock.
@usableFromInline
final class WorkloadBodies<Value: Sendable>: Sendable {
    @usableFromInline let value: @Sendable () -> Value
    @usableFromInline let read: @Sendable (Value, WorkloadOperation) -> Void
    @usableFromInline let write: @Sendable (inout Value, WorkloadOperation) -> Void
    let check: (@Sendable (Value, WorkloadCounts) -> Bool)?
    @usableFromInline let expectations = Expectations()

    init(
        value: @escaping @Sendable () -> Value,
        read: @escaping @Sendable (Value, WorkloadOperation) -> Void,
        write: @escaping @Sendable (inout Value, WorkloadOperation) -> Void,
        check: (@Sendable (Value, WorkloadCounts) -> Bool)?
    ) {
        self.value = value
        self.read = read
        self.write = write
        self.check = check
        _ = unsafe Unmanaged.passRetained(self)
    }
}

/// The section of a program's own workload, as one thread uses it.
///
/// SAFETY: `@safe` because an object of the type that `unmanaged` refers to is never freed.
@safe
@usableFromInline
struct OwnSection<Value: Sendable>: Section {
    @usableFromInline let unmanaged: Unmanaged<WorkloadBodies<Value>>
    @usableFromInline let thread: Int

    @inlinable
    init(_ workload: Workload<Value>) {
        unsafe self.init(Unmanaged.passUnretained(workload.bodies), thread: 0)
    }

    @inlinable
    init(_ unmanaged: Unmanaged<WorkloadBodies<Value>>, thread: Int) {
        unsafe self.unmanaged = unmanaged
        self.thread = thread
    }

    /// The closures, outside of the timed loop.
    @inlinable var bodies: WorkloadBodies<Value> { unsafe unmanaged.takeUnretainedValue() }

    @inlinable static var canBeStriped: Bool { false }

    @inlinable
    func value(keys: Int) -> Value { bodies.value() }

    @inlinable
    func used(by thread: Int) -> Self { unsafe Self(unmanaged, thread: thread) }

    @inlinable
    @inline(__always)
    func operation(
        _ planned: PlannedOperation,
        _ number: Int,
        _ expectations: Expectations
    ) -> WorkloadOperation {
        WorkloadOperation(key: planned.slot, number: number, thread: thread, expectations)
    }

    @inlinable
    @inline(__always)
    func read(_ value: Value, _ planned: PlannedOperation, number: Int) -> UInt64 {
        unsafe unmanaged._withUnsafeGuaranteedRef { bodies in
            bodies.read(value, operation(planned, number, bodies.expectations))
        }
        return 0
    }

    @inlinable
    @inline(__always)
    func write(_ value: inout Value, _ planned: PlannedOperation, number: Int) -> UInt64 {
        unsafe unmanaged._withUnsafeGuaranteedRef { bodies in
            bodies.write(&value, operation(planned, number, bodies.expectations))
        }
        return 0
    }

    @usableFromInline
    func wrongCount(_ stripes: [Value], _ result: SliceResult, _ slice: Slice) -> Int {
        var counts = (reads: 0, writes: 0)
        for (plan, tally) in zip(slice.plans, result.tallies) {
            let writes = plan.writeCount(among: tally.operationsInAll)
            counts.writes += writes
            counts.reads += tally.operationsInAll - writes
        }
        let all = WorkloadCounts(reads: counts.reads, writes: counts.writes)
        let broken = stripes.count { bodies.check?($0, all) == false }
        return broken + bodies.expectations.take()
    }
}
