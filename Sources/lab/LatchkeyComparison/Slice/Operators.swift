import Dispatch
import Glibc
public import LatchkeyStrategies

/// The cost of an operation, in steps of work.
struct OperationCost: Sendable {
    let work: Work
    let sectionSteps: Int
    let outsideSteps: Int
}

/// Does the planned operations of one thread through one kind of access function.
///
/// Generic for blocking strategies, so that the loop around it is compiled once for each strategy
/// and section, without dynamic dispatch.
///
/// **Design.** An operator belongs to one thread, which makes it. Completions on other threads
/// touch only the semaphore of its window, or a ``ResponseTimes``.
@usableFromInline
protocol Operator: SendableMetatype {
    /// Does the operation.
    ///
    /// The outside work begins with the result, so that the processor cannot overlap the two.
    ///
    /// - Parameters:
    ///   - operation: The operation.
    ///   - number: The operation's among those of its thread, from 0.
    ///   - timing: In an open loop: told when the operation has ended.
    /// - Returns: The result, or 0 if it comes later.
    mutating func perform(
        _ operation: PlannedOperation,
        number: Int,
        timing: ResponseTiming?
    ) -> UInt64
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
/// nanoseconds that do not belong to the lock. Where it is metered, they do not matter.
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

/// The operations of a thread that are under way, of which there is a limited number.
///
/// **Design.** Belongs to one thread; other threads touch the semaphore only.
@usableFromInline
final class SubmissionWindow {
    static let max = 16

    let places = DispatchSemaphore(value: SubmissionWindow.max)
    /// Operations that were refused and then tried again.
    var refusedCount = 0

    /// Returns when nothing is under way any more.
    func drain() {
        for _ in 0..<Self.max {
            places.wait()
        }
        for _ in 0..<Self.max {
            places.signal()
        }
    }
}

/// Uses submitting access functions, with a limited number of operations under way.
///
/// The figure is the number of *applied* operations: a thread goes on while up to
/// ``SubmissionWindow/max`` of its operations wait, and then waits for one to complete. The
/// semaphore that limits them is part of the figure, as any limit would be part of a program.
///
/// The submission is a closure, so that this is compiled once: a call costs a hundredth of a
/// submitted operation.
@usableFromInline
struct SubmittingOperator: Operator {
    @usableFromInline typealias Submission = (
        _ operation: PlannedOperation,
        _ number: Int,
        _ completion: @escaping @Sendable (UInt64) -> Void
    ) throws(BacklogFull) -> Void

    private let submit: Submission
    let window = SubmissionWindow()

    @usableFromInline
    init(_ submit: @escaping Submission) { self.submit = submit }

    @usableFromInline
    mutating func perform(
        _ operation: PlannedOperation,
        number: Int,
        timing: ResponseTiming?
    ) -> UInt64 {
        let places = window.places
        places.wait()
        let completion = { @Sendable (result: UInt64) in
            Sink.keep(result)
            timing?.end()
            places.signal()
        }
        // The windows of all threads together fit into a backlog unless there are more than 256
        // threads. A refused operation is tried again, so that the plan stays complete.
        while true {
            do throws(BacklogFull) {
                try submit(operation, number, completion)
                return 0
            } catch {
                window.refusedCount += 1
                sched_yield()
            }
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
