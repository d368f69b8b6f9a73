internal import Foundation
internal import LatchkeySettings
internal import LatchkeyStore
internal import LatchkeySync

/// The operations of a service: accepts them, executes them in the background, and keeps their
/// outcomes.
///
/// **Design.** One lock guards the board, which decides, and the runs, timers and observers. It is
/// never held while something is called: a change of the board returns actions, which are taken
/// after the lock is released. Foundation's `OperationQueue` chooses the next operation by priority
/// and limits how many execute. The board has delays and dependencies: an operation enters the
/// queue when it can execute, so the queue keeps no ended operation for others, and a failure can
/// cancel waiting ones. Promised: each change of state is seen once and in order by an observer.
/// Not promised: the order of operations of one priority that become ready at the same time.
package final class Operations: Sendable {
    /// Is called when there are new events of an operation.
    ///
    /// It must not block.
    package typealias Observer = @Sendable () -> Void

    private struct Contents {
        var board: OperationBoard
        var cancellations: [OperationID: Cancellation] = [:]
        var timers: [OperationID: OperationTimer] = [:]
        var observers: [OperationID: [UInt64: Observer]] = [:]
        var observerCount: UInt64 = 0
    }

    private let environment: OperationEnvironment
    private let contents: Guarded<Contents>
    private let queue = OperationQueue()

    package init(limits: OperationLimits = .standard, _ environment: OperationEnvironment) {
        self.environment = environment
        contents = Synchronized(Contents(board: OperationBoard(limits: limits)))
        queue.maxConcurrentOperationCount = limits.executingMax
    }

    /// Accepts all of these plans or none, and returns the operations in the order of the plans.
    package func submit(
        _ plans: [OperationPlan]
    ) throws(OperationRefusal) -> [OperationSnapshot] {
        let time = environment.clock.now()
        let (accepted, actions) = try contents.write { contents throws(OperationRefusal) in
            let (ids, actions) = try contents.board.submit(plans, at: time)
            return (ids.compactMap { contents.board.operation($0) }, actions)
        }
        perform(actions)
        return accepted
    }

    /// The operation; nil if it does not exist, or was forgotten.
    package func operation(_ id: OperationID) -> OperationSnapshot? {
        contents.read { $0.board.operation(id) }
    }

    package func page(
        state: OperationState?,
        owner: String? = nil,
        limit: Int,
        before: UInt64?
    ) -> OperationPage {
        contents.read { contents in
            contents.board.page(state: state, owner: owner, limit: limit, before: before)
        }
    }

    package var counts: OperationCounts { contents.read { $0.board.counts } }

    /// How much memory queued operations and kept values take.
    package var byteCount: Int { contents.read { $0.board.byteCount } }

    /// Cancels an operation, which then stops as soon as its step can.
    ///
    /// The effects of its steps stay. An operation that has ended stays as it is. Nil if there is
    /// no such operation.
    package func cancel(_ id: OperationID) -> OperationSnapshot? {
        let time = environment.clock.now()
        let actions = contents.write { $0.board.cancel(id, at: time) }
        guard let actions else { return nil }
        let interrupts = actions.contains(.interrupt(id))
        let cancelled = interrupts ? nil : operation(id)
        perform(actions)
        return cancelled ?? operation(id)
    }

    /// Accepts no more operations, and cancels all.
    ///
    /// Returns when they have ended, or after this time.
    package func drain(within limit: Duration) {
        let time = environment.clock.now()
        let hasEnded = DispatchSemaphore(value: 0)
        perform(contents.write { $0.board.drain(at: time) })
        queue.addBarrierBlock { hasEnded.signal() }
        _ = hasEnded.wait(timeout: .now() + .milliseconds(limit.wholeMilliseconds))
    }

    // MARK: Observing

    /// Events of an operation with higher numbers than this one, and whether its last one is among
    /// them or before; nil if there is no such operation.
    package func events(
        of id: OperationID,
        after number: UInt64
    ) -> (events: [OperationEvent], hasEnded: Bool)? {
        contents.read { contents in
            guard let events = contents.board.events(of: id, after: number),
                let state = contents.board.operation(id)?.state
            else { return nil }
            return (events, state.isFinal)
        }
    }

    /// Calls a closure after each change of an operation, until it is forgotten.
    ///
    /// - Returns: A closure that ends the observation.
    package func observe(_ id: OperationID, _ observer: @escaping Observer) -> Observer {
        let key = contents.write { contents in
            contents.observerCount += 1
            if contents.board.operation(id) != nil {
                contents.observers[id, default: [:]][contents.observerCount] = observer
            }
            return contents.observerCount
        }
        return { [weak self] in
            self?.contents.write { contents in
                contents.observers[id]?[key] = nil
                if contents.observers[id]?.isEmpty == true { contents.observers[id] = nil }
            }
        }
    }
}

// MARK: Acting

extension Operations {
    private func change(_ body: (inout OperationBoard) -> [OperationBoard.Action]) {
        perform(contents.write { body(&$0.board) })
    }

    /// Takes the actions of a change of the board, and then forgets operations over the limits.
    private func perform(_ actions: [OperationBoard.Action]) {
        for action in actions { perform(action) }
        for action in contents.write({ $0.board.trim() }) { perform(action) }
    }

    private func perform(_ action: OperationBoard.Action) {
        switch action {
        case .startTimer(let id, let delay):
            startTimer(id, delay)
        case .stopTimer(let id):
            contents.write { $0.timers.removeValue(forKey: id) }?.stop()
        case .enqueue(let id, let priority):
            queue.addOperation(
                OperationRun(priority) { [weak self] run in
                    guard let self else { return run.leave() }
                    execute(id, run)
                }
            )
        case .interrupt(let id):
            contents.read { $0.cancellations[id] }?.cancel()
        case .tell(let id):
            for observer in contents.read({ Array(($0.observers[id] ?? [:]).values) }) {
                observer()
            }
        case .forget(let id):
            let observers = contents.write { $0.observers.removeValue(forKey: id) }
            for observer in (observers ?? [:]).values { observer() }
        }
    }

    private func startTimer(_ id: OperationID, _ delay: Duration) {
        let timer = environment.clock.after(delay) { [weak self] in
            guard let self else { return }
            contents.write { _ = $0.timers.removeValue(forKey: id) }
            change { $0.delayIsOver(id) }
        }
        // The time may be over, or the operation cancelled meanwhile.
        let isNeeded = contents.write { contents in
            guard contents.board.isDelayed(id) else { return false }
            contents.timers[id] = timer
            return true
        }
        if !isNeeded { timer.stop() }
    }

    /// Makes the steps of an operation that the queue has started.
    private func execute(_ id: OperationID, _ run: OperationRun) {
        let cancellation = Cancellation()
        let time = environment.clock.now()
        let begun = contents.write { contents in
            let begun = contents.board.begin(id, at: time)
            if begun != nil { contents.cancellations[id] = cancellation }
            return begun
        }
        guard let (plan, actions) = begun else { return leave(run) }
        perform(actions)
        StepChain(id, plan, environment, cancellation) { [weak self] step, stepCount, progress in
            self?.change {
                $0.advance(id, step: step, stepCount: stepCount, progress: progress)
            }
        } end: { [weak self] outcome in
            guard let self else { return run.leave() }
            let time = environment.clock.now()
            contents.write { $0.cancellations[id] = nil }
            change { $0.end(id, outcome, at: time) }
            leave(run)
        }.start()
    }

    private func leave(_ run: OperationRun) {
        contents.write { $0.board.leaveQueue() }
        run.leave()
    }
}
