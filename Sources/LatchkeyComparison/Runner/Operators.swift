import Dispatch
import Glibc
import LatchkeyStrategies

/// The cost of an operation, in steps of work.
struct OperationCost: Sendable {
    let work: Work
    let sectionSteps: Int
    let outsideSteps: Int
}

/// Does the planned operations of one thread through one kind of access function.
///
/// A generic type for each way, so that the loop around it is compiled once for each strategy and
/// nothing in it is dispatched.
///
/// **Design.** An operator belongs to one thread, which makes it. What completes on other threads
/// touches the semaphore of its window, or a ``ResponseTimes``, and nothing else of it.
protocol Operator: SendableMetatype {
    /// Operations that were refused and then tried again.
    var refusedCount: Int { get }

    /// Does the operation and returns its result, or 0 if the result comes later.
    ///
    /// The outside work begins with the result, so that the processor cannot overlap the two.
    mutating func perform(_ operation: PlannedOperation) -> UInt64

    /// As `perform`, and records how long it took from both starts.
    mutating func perform(_ operation: PlannedOperation, timing: ResponseTiming) -> UInt64

    /// Returns when nothing is under way any more.
    mutating func drain()
}

/// Defaults: nothing is refused, and an operation has ended when it returns.
extension Operator {
    var refusedCount: Int { 0 }

    mutating func perform(_ operation: PlannedOperation, timing: ResponseTiming) -> UInt64 {
        let result = perform(operation)
        timing.end()
        return result
    }

    mutating func drain() {}
}

/// Uses the blocking access functions.
struct BlockingOperator<Value: GuardedValues, ChosenStrategy: BlockingStrategy>: Operator {
    let striped: Striped<Value, ChosenStrategy>
    let cost: OperationCost

    init(_ striped: Striped<Value, ChosenStrategy>, _ cost: OperationCost) {
        self.striped = striped
        self.cost = cost
    }

    @inline(__always)
    mutating func perform(_ operation: PlannedOperation) -> UInt64 {
        let slot = operation.slot
        let cost = cost
        if operation.isWrite {
            return striped.write(operation.stripe) {
                $0.write(slot, work: cost.work, steps: cost.sectionSteps)
            }
        }
        return striped.read(operation.stripe) {
            $0.read(slot, work: cost.work, steps: cost.sectionSteps)
        }
    }
}

/// Uses the blocking access functions of the only stripe.
///
/// Separate from ``BlockingOperator`` because looking up a stripe takes three dependent loads: two
/// nanoseconds that do not belong to the lock.
struct OneStripeOperator<Value: GuardedValues, ChosenStrategy: BlockingStrategy>: Operator {
    let guarded: Synchronized<Value, ChosenStrategy>
    let cost: OperationCost

    init(_ guarded: Synchronized<Value, ChosenStrategy>, _ cost: OperationCost) {
        self.guarded = guarded
        self.cost = cost
    }

    @inline(__always)
    mutating func perform(_ operation: PlannedOperation) -> UInt64 {
        let slot = operation.slot
        let cost = cost
        if operation.isWrite {
            return guarded.write { $0.write(slot, work: cost.work, steps: cost.sectionSteps) }
        }
        return guarded.read { $0.read(slot, work: cost.work, steps: cost.sectionSteps) }
    }
}

/// Uses the submitting access functions, with a bounded number of operations under way.
///
/// The figure is the number of *applied* operations: a thread goes on while up to
/// ``windowMax`` of its operations wait, and then waits for one to complete. The semaphore that
/// bounds them is part of the figure, as any bound would be part of a program.
struct SubmittingOperator<Value: GuardedValues, ChosenStrategy: Strategy>: Operator {
    /// The most operations of a thread that are under way.
    static var windowMax: Int { 16 }

    let striped: Striped<Value, ChosenStrategy>
    let cost: OperationCost
    private(set) var refusedCount = 0
    private let window = DispatchSemaphore(value: Self.windowMax)

    init(_ striped: Striped<Value, ChosenStrategy>, _ cost: OperationCost) {
        self.striped = striped
        self.cost = cost
    }

    mutating func perform(_ operation: PlannedOperation) -> UInt64 {
        submit(operation, nil)
        return 0
    }

    mutating func perform(_ operation: PlannedOperation, timing: ResponseTiming) -> UInt64 {
        submit(operation, timing)
        return 0
    }

    mutating func drain() {
        for _ in 0..<Self.windowMax {
            window.wait()
        }
        for _ in 0..<Self.windowMax {
            window.signal()
        }
    }

    private mutating func submit(_ operation: PlannedOperation, _ timing: ResponseTiming?) {
        window.wait()
        let slot = operation.slot
        let cost = cost
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
                        { $0.write(slot, work: cost.work, steps: cost.sectionSteps) },
                        completion: completion
                    )
                } else {
                    try striped.submitRead(
                        operation.stripe,
                        { $0.read(slot, work: cost.work, steps: cost.sectionSteps) },
                        completion: completion
                    )
                }
                return
            } catch {
                refusedCount += 1
                sched_yield()
            }
        }
    }
}

/// Does the work without a lock, for one thread alone.
struct UnguardedOperator<Value: GuardedValues>: Operator {
    private(set) var stripes: [Value]
    let cost: OperationCost

    init(stripes: [Value], _ cost: OperationCost) {
        self.stripes = stripes
        self.cost = cost
    }

    @inline(__always)
    mutating func perform(_ operation: PlannedOperation) -> UInt64 {
        let (stripe, slot) = (operation.stripe, operation.slot)
        if operation.isWrite {
            return stripes[stripe].write(slot, work: cost.work, steps: cost.sectionSteps)
        }
        return stripes[stripe].read(slot, work: cost.work, steps: cost.sectionSteps)
    }
}
