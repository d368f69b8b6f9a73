/// The state of the timed loop, besides its operator.
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
    /// One operation after the other until the stage is over, the first one in any case: the timed
    /// path.
    ///
    /// Consumes the operator and returns it, so that nothing else refers to its values: an
    /// unguarded operator would copy them when it writes.
    @inlinable
    @inline(never)
    consuming func loop(
        _ stage: UInt32,
        _ clock: StageClock,
        _ state: inout LoopState,
        timing: ResponseTiming?
    ) -> Self {
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
            repeat {
                outside ^= performer.perform(operation, number: number, timing: timing)
                // A look-up takes a nanosecond, and a lock ten.
                if count > 1 {
                    place = place &+ 1 == count ? 0 : place &+ 1
                    operation = unsafe operations[place]
                }
                if outsideSteps > 0 {
                    outside = work.run(outside, steps: outsideSteps)
                }
                number &+= 1
            } while clock.isStill(number: stage)
        }
        state.position = number
        state.outside = outside
        return performer
    }
}

/// An operator in closures, which are compiled where the strategy and the section are known.
///
/// So ``Worker`` is one type. In a closed loop the closure is called once for each stage, and
/// nothing inside of the loop goes through a closure.
///
/// **Design.** Belongs to one thread, as the operator does.
@usableFromInline
struct AnyOperator {
    @usableFromInline let loop:
        (
            _ stage: UInt32, _ clock: StageClock, _ state: inout LoopState,
            _ timing: ResponseTiming?
        ) -> Void
    /// Called when the thread is done.
    @usableFromInline let finish: () -> Void
    /// Where an operation can end after it has returned.
    var window: SubmissionWindow?

    /// - Parameters:
    ///   - performer: The operator.
    ///   - whenFinished: Called with it when the thread is done.
    @inlinable
    init<Performer: Operator>(
        _ performer: Performer,
        whenFinished: @escaping (Performer) -> Void = { _ in }
    ) {
        var owned: Performer? = performer
        loop = { stage, clock, state, timing in
            owned = owned.take()?.loop(stage, clock, &state, timing: timing)
        }
        finish = { owned.map(whenFinished) }
    }

    /// An operator whose operations can end after they have returned.
    @usableFromInline
    init(_ performer: SubmittingOperator) {
        self.init(performer) { _ in }
        window = performer.window
    }
}
