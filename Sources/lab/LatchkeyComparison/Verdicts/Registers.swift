import Glibc

/// The guarded value of the checks: properties that are easy to break.
///
/// Each change has several steps with work in between, and sometimes yields the processor in the
/// middle, so that a strategy that admits two writers is caught even with one processor. All fields
/// are plain numbers, so that a broken strategy cannot crash the process.
struct Registers: Sendable {
    static let propertyCount = 4

    /// A value and its complement, which a reader must find together.
    struct Property: Sendable {
        var value: UInt64 = 0
        var complement: UInt64 = ~0
    }

    private var properties = InlineArray<4, Property>(repeating: Property())
    /// The number of writes and successful compare-and-sets.
    private(set) var changes: UInt64 = 0

    func read(_ operation: RegisterOperation) -> RegisterFinding {
        let value = properties[operation.property].value
        operation.pause.take()
        let isTorn = value != ~properties[operation.property].complement
        return RegisterFinding(action: .read(found: value), value: value, isTorn: isTorn)
    }

    mutating func run(_ operation: RegisterOperation) -> RegisterFinding {
        switch operation.action {
        case .read:
            return read(operation)
        case .write(let new):
            write(new, operation)
            return RegisterFinding(action: operation.action, value: new)
        case .compareAndSet(let expected, let new, _):
            let found = properties[operation.property].value
            let succeeds = found == expected
            if succeeds {
                operation.pause.take()
                write(new, operation)
            }
            return RegisterFinding(
                action: .compareAndSet(expected: expected, new: new, succeeded: succeeds),
                value: succeeds ? new : found
            )
        }
    }

    private mutating func write(_ value: UInt64, _ operation: RegisterOperation) {
        let changesBefore = changes
        properties[operation.property].value = value
        operation.pause.take()
        properties[operation.property].complement = ~value
        changes = changesBefore + 1
    }
}

/// One operation that a client is about to do.
struct RegisterOperation: Sendable {
    var property: Int
    /// Without its outcome.
    var action: RecordedOperation.Action
    var pause: Pause

    var isRead: Bool {
        if case .read = action { true } else { false }
    }
}

/// What an operation led to.
struct RegisterFinding: Sendable {
    /// With its outcome.
    var action: RecordedOperation.Action
    /// The value that the client has seen last.
    var value: UInt64
    var isTorn = false
}

/// A pause in the middle of a change.
enum Pause: Sendable {
    case none
    case work
    /// Lets another thread run.
    case yield

    /// `yield` now and then, else `work`.
    init(_ random: inout SeededRandom) {
        self = random.next().isMultiple(of: 4) ? .yield : .work
    }

    /// Not inlined, so that the steps around it stay apart.
    @inline(never)
    func take() {
        switch self {
        case .none: break
        case .work: Sink.keep(Work(seed: 1).run(1, steps: 20))
        case .yield: sched_yield()
        }
    }
}
