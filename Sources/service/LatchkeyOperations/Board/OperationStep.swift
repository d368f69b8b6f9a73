package import LatchkeyStore

/// One step of an operation.
package enum OperationStep: Sendable {
    /// Changes or reads one property.
    ///
    /// If it takes the previous step's value, its own is not used.
    case change(Change.Step, takesPrevious: Bool)
    case transaction(Transaction)
    /// Waits, and passes the previous step's value on.
    case wait(Duration)
    /// Puts the properties of lines: of a text in NDJSON, or of an array of the objects.
    ///
    /// Nil takes the previous step's value.
    case importing(OperationValue?)
    case compare(ComparisonRequest)
    /// Reads a JSON text from this URL.
    case fetch(String)
}

extension OperationStep {
    /// The properties that the step's value shows, besides those that the previous value shows:
    /// names, or prefixes of names.
    ///
    /// A caller that may not read them may not make the step.
    package var shown: [PropertyName] {
        switch self {
        case .change(let step, _):
            // Steps that answer with the value, and a touch, whose result is the unchanged value.
            step.action.reads || step.action.touches ? [step.name] : []
        case .transaction(let transaction): transaction.shown
        case .wait, .importing, .compare, .fetch: []
        }
    }

    /// Whether the step uses the previous step's value.
    ///
    /// A step that only waits passes it on.
    var takesPrevious: Bool {
        switch self {
        case .change(_, let takesPrevious): takesPrevious
        case .importing(let lines): lines == nil
        case .transaction, .wait, .compare, .fetch: false
        }
    }
}

/// The measurement of a step of the kind `compare`.
package struct ComparisonRequest: Sendable, Hashable {
    package static let threadsMax = 64
    package static let seconds = 0.1...60.0

    /// Names of strategies; empty for all.
    package let strategies: [String]
    package let threads: Int
    /// How long each strategy is measured.
    package let seconds: Double

    package init(strategies: [String], threads: Int, seconds: Double) {
        self.strategies = strategies
        self.threads = threads
        self.seconds = seconds
    }
}
