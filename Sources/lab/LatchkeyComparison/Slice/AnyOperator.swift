/// What the timed loop works on, besides its operator.
@usableFromInline
struct LoopState {
    @usableFromInline let operations: [PlannedOperation]
    @usableFromInline let work: Work
    @usableFromInline let outsideSteps: Int
    /// The number of operations so far.
    @usableFromInline var position = 0
    /// The result of the work outside so far.
    @usableFromInline var outside: UInt64 = 1

    init(_ operations: [PlannedOperation], _ cost: OperationCost) {
        self.operations = operations
        work = cost.work
        outsideSteps = cost.outsideSteps
    }
}

extension Operator {
    /// One operation after the other: the timed path.
    @inlinable
    @inline(never)
    mutating func closedLoop(_ stage: UInt32, _ clock: StageClock, _ state: inout LoopState) {
        let count = state.operations.count
        let work = state.work
        let outsideSteps = state.outsideSteps
        var place = state.position % count
        // Copies, so that they can stay in registers while the access functions are called.
        var number = state.position
        var outside = state.outside
        var performer = self
        unsafe state.operations.withUnsafeBufferPointer { operations in
            var operation = unsafe operations[place]
            while clock.isStill(number: stage) {
                outside ^= performer.perform(operation, number: number, timing: nil)
                // To look one up takes a nanosecond of the ten that a lock takes.
                if count > 1 {
                    place = place &+ 1 == count ? 0 : place &+ 1
                    operation = unsafe operations[place]
                }
                if outsideSteps > 0 {
                    outside = work.run(outside, steps: outsideSteps)
                }
                number &+= 1
            }
        }
        state.position = number
        state.outside = outside
        self = performer
    }
}

/// An operator behind closures, which are compiled where the strategy and the section are known.
///
/// ``Worker`` is so one type. The closure of the closed loop is called once for each stage, and
/// nothing inside of the loop goes through a closure.
///
/// **Design.** Belongs to one thread, as the operator does.
@usableFromInline
struct AnyOperator {
    @usableFromInline let closedLoop:
        (_ stage: UInt32, _ clock: StageClock, _ state: inout LoopState) -> Void
    /// One operation of an open loop.
    @usableFromInline let perform:
        (_ operation: PlannedOperation, _ number: Int, _ timing: ResponseTiming?) -> UInt64
    /// Called when the thread is done.
    @usableFromInline let finish: () -> Void
    /// Where an operation can end after it has returned.
    @usableFromInline let window: SubmissionWindow?

    /// - Parameters:
    ///   - performer: The operator.
    ///   - window: The operator's window, if it has one.
    @inlinable
    init<Performer: Operator>(_ performer: Performer, window: SubmissionWindow? = nil) {
        var performer = performer
        closedLoop = { performer.closedLoop($0, $1, &$2) }
        perform = { performer.perform($0, number: $1, timing: $2) }
        finish = {}
        self.window = window
    }

    /// - Parameters:
    ///   - performer: The operator.
    ///   - whenFinished: Given the values when the thread is done.
    @inlinable
    init<Guarded: Section>(
        _ performer: UnguardedOperator<Guarded>,
        whenFinished: @escaping ([Guarded.Value]) -> Void
    ) {
        var performer = performer
        closedLoop = { performer.closedLoop($0, $1, &$2) }
        perform = { performer.perform($0, number: $1, timing: $2) }
        finish = { whenFinished(performer.stripes) }
        window = nil
    }
}
