internal import Foundation
internal import Synchronization

/// The place of one operation in Foundation's `OperationQueue`.
///
/// **Design.** A concurrent operation: `start` begins the steps and returns, and the operation is
/// executing until ``leave()``. So the queue counts an operation whose step waits, but no thread
/// waits. The phase is one atomic number: written by the thread that starts or ends the operation,
/// read by the queue. `releasing` and `acquiring` pair with each other.
///
/// SAFETY: `@unchecked Sendable`, as the superclass is; all fields are constant or atomic.
final class OperationRun: Operation, @unchecked Sendable {
    private enum Phase {
        static let waiting = 0
        static let executing = 1
        static let left = 2
    }

    private let phase = Atomic<Int>(Phase.waiting)
    private let body: @Sendable (OperationRun) -> Void

    /// Makes a run whose `body` is called when the queue starts it, and must have ``leave()``
    /// called.
    init(_ priority: OperationPriority, _ body: @escaping @Sendable (OperationRun) -> Void) {
        self.body = body
        super.init()
        queuePriority = priority.ofQueue
    }

    override var isAsynchronous: Bool { true }
    override var isExecuting: Bool { phase.load(ordering: .acquiring) == Phase.executing }
    override var isFinished: Bool { phase.load(ordering: .acquiring) == Phase.left }

    override func start() {
        willChangeValue(for: \.isExecuting)
        phase.store(Phase.executing, ordering: .releasing)
        didChangeValue(for: \.isExecuting)
        body(self)
    }

    /// Gives the place to the next operation.
    func leave() {
        willChangeValue(for: \.isExecuting)
        willChangeValue(for: \.isFinished)
        phase.store(Phase.left, ordering: .releasing)
        didChangeValue(for: \.isExecuting)
        didChangeValue(for: \.isFinished)
    }
}

extension OperationPriority {
    fileprivate var ofQueue: Operation.QueuePriority {
        switch self {
        case .veryLow: .veryLow
        case .low: .low
        case .normal: .normal
        case .high: .high
        case .veryHigh: .veryHigh
        }
    }
}
