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

    /// The result of an access.
    struct Finding: Sendable {
        var value: UInt64
        var isTorn: Bool
        /// Whether a compare-and-set set.
        var succeeded: Bool
    }

    private var properties = InlineArray<4, Property>(repeating: Property())
    /// The number of writes and successful compare-and-sets.
    private(set) var changes: UInt64 = 0

    func read(_ property: Int, pause: Pause) -> Finding {
        let value = properties[property].value
        pause.take()
        let complement = properties[property].complement
        return Finding(value: value, isTorn: value != ~complement, succeeded: false)
    }

    mutating func write(_ property: Int, _ value: UInt64, pause: Pause) -> Finding {
        let changesBefore = changes
        properties[property].value = value
        pause.take()
        properties[property].complement = ~value
        changes = changesBefore + 1
        return Finding(value: value, isTorn: false, succeeded: true)
    }

    mutating func compareAndSet(
        _ property: Int,
        expected: UInt64,
        new: UInt64,
        pause: Pause
    ) -> Finding {
        let found = properties[property].value
        guard found == expected else {
            return Finding(value: found, isTorn: false, succeeded: false)
        }
        pause.take()
        return write(property, new, pause: pause)
    }
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
