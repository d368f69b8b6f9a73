public import Dispatch
public import Glibc
public import LatchkeyStrategies

/// The cost of an operation, in steps of work.
struct OperationCost: Sendable {
    let work: Work
    let sectionSteps: Int
    let outsideSteps: Int
}

/// Does the planned operations of one thread through one kind of access function.
///
/// A generic type for each way, so that the loop around it is compiled once for each strategy and
/// section, and nothing in it is dispatched.
///
/// **Design.** An operator belongs to one thread, which makes it. What completes on other threads
/// touches the semaphore of its window, or a ``ResponseTimes``, and nothing else of it.
@usableFromInline
protocol Operator: SendableMetatype {
    /// Operations that were refused and then tried again.
    var refusedCount: Int { get }

    /// Does the operation.
    ///
    /// The outside work begins with the result, so that the processor cannot overlap the two.
    ///
    /// - Parameters:
    ///   - operation: What to do.
    ///   - number: The operation's among those of its thread, from 0.
    ///   - timing: In an open loop: told when the operation has ended.
    /// - Returns: The result, or 0 if it comes later.
    mutating func perform(
        _ operation: PlannedOperation,
        number: Int,
        timing: ResponseTiming?
    ) -> UInt64

    /// Returns when nothing is under way any more.
    mutating func drain()
}

/// Defaults: nothing is refused, and an operation has ended when it returns.
extension Operator {
    @inlinable var refusedCount: Int { 0 }

    @inlinable
    mutating func drain() {}
}

/// Uses the blocking access functions.
@usableFromInline
struct BlockingOperator<Guarded: Section, ChosenStrategy: BlockingStrategy>: Operator {
    @usableFromInline let striped: Striped<Guarded.Value, ChosenStrategy>
    @usableFromInline let section: Guarded

    @inlinable
    init(_ striped: Striped<Guarded.Value, ChosenStrategy>, _ section: Guarded) {
        self.striped = striped
        self.section = section
    }

    @inlinable
    @inline(__always)
    mutating func perform(
        _ operation: PlannedOperation,
        number: Int,
        timing: ResponseTiming?
    ) -> UInt64 {
        defer { timing?.end() }
        let section = section
        if operation.isWrite {
            return striped.write(operation.stripe) {
                section.write(&$0, operation, number: number)
            }
        }
        return striped.read(operation.stripe) { section.read($0, operation, number: number) }
    }
}

/// Uses the blocking access functions of the only stripe.
///
/// Separate from ``BlockingOperator`` because looking up a stripe takes three dependent loads: two
/// nanoseconds that do not belong to the lock.
@usableFromInline
struct OneStripeOperator<Guarded: Section, ChosenStrategy: BlockingStrategy>: Operator {
    @usableFromInline let guarded: Synchronized<Guarded.Value, ChosenStrategy>
    @usableFromInline let section: Guarded

    @inlinable
    init(_ guarded: Synchronized<Guarded.Value, ChosenStrategy>, _ section: Guarded) {
        self.guarded = guarded
        self.section = section
    }

    @inlinable
    @inline(__always)
    mutating func perform(
        _ operation: PlannedOperation,
        number: Int,
        timing: ResponseTiming?
    ) -> UInt64 {
        defer { timing?.end() }
        let section = section
        if operation.isWrite {
            return guarded.write { section.write(&$0, operation, number: number) }
        }
        return guarded.read { section.read($0, operation, number: number) }
    }
}

/// The bound on the operations of a thread that are under way.
@usableFromInline
enum SubmissionWindow {
    @inlinable static var max: Int { 16 }
}

/// Uses the submitting access functions, with a bounded number of operations under way.
///
/// The figure is the number of *applied* operations: a thread goes on while up to
/// ``SubmissionWindow/max`` of its operations wait, and then waits for one to complete. The
/// semaphore that bounds them is part of the figure, as any bound would be part of a program.
@usableFromInline
struct SubmittingOperator<Guarded: Section, ChosenStrategy: Strategy>: Operator {
    @usableFromInline let striped: Striped<Guarded.Value, ChosenStrategy>
    @usableFromInline let section: Guarded
    @usableFromInline var refusedCount = 0
    @usableFromInline let window = DispatchSemaphore(value: SubmissionWindow.max)

    @inlinable
    init(_ striped: Striped<Guarded.Value, ChosenStrategy>, _ section: Guarded) {
        self.striped = striped
        self.section = section
    }

    @inlinable
    mutating func perform(
        _ operation: PlannedOperation,
        number: Int,
        timing: ResponseTiming?
    ) -> UInt64 {
        window.wait()
        let section = section
        let completion = { @Sendable [window] (result: UInt64) in
            Sink.keep(result)
            timing?.end()
            window.signal()
        }
        // The windows of all threads together fit into a backlog unless there are more than 256
        // threads. A refused operation is tried again, so that the plan stays complete.
        while true {
            do {
                if operation.isWrite {
                    try striped.submitWrite(
                        operation.stripe,
                        { section.write(&$0, operation, number: number) },
                        completion: completion
                    )
                } else {
                    try striped.submitRead(
                        operation.stripe,
                        { section.read($0, operation, number: number) },
                        completion: completion
                    )
                }
                return 0
            } catch {
                refusedCount += 1
                sched_yield()
            }
        }
    }

    @inlinable
    mutating func drain() {
        for _ in 0..<SubmissionWindow.max {
            window.wait()
        }
        for _ in 0..<SubmissionWindow.max {
            window.signal()
        }
    }
}

/// Does the work without a lock, for one thread alone.
@usableFromInline
struct UnguardedOperator<Guarded: Section>: Operator {
    @usableFromInline var stripes: [Guarded.Value]
    @usableFromInline let section: Guarded

    @inlinable
    init(stripes: [Guarded.Value], _ section: Guarded) {
        self.stripes = stripes
        self.section = section
    }

    @inlinable
    @inline(__always)
    mutating func perform(
        _ operation: PlannedOperation,
        number: Int,
        timing: ResponseTiming?
    ) -> UInt64 {
        defer { timing?.end() }
        if operation.isWrite {
            return section.write(&stripes[operation.stripe], operation, number: number)
        }
        return section.read(stripes[operation.stripe], operation, number: number)
    }
}
