/// Whether a history of operations on properties has an order that one thread could have produced.
///
/// A history is *linearizable* if each operation can be given an instant between its invocation and
/// its response such that, in the order of the instants, every read finds what was written last
/// and every compare-and-set succeeds exactly when it should. Properties are independent of each
/// other, so each is checked by itself.
///
/// **Design.** Wing and Gong's search with Lowe's memory of configurations. A client's operations
/// follow each other, so what has been ordered so far is a position in each client's list; a
/// configuration is the positions and the value. From one configuration every operation may come
/// next that was invoked before the first response among those that are left. Operations that
/// change nothing and agree with the value (reads that find it, compare-and-sets that had to
/// fail) are taken at once: doing so cannot make anything impossible. The others are tried in the
/// order of their responses, unless they would replace a value that somebody still has to find;
/// and a configuration that was tried before is not tried again. In the worst case the search is
/// exponential, so it is bounded; the histories of a correct strategy are walked nearly straight
/// through.
package enum LinearizabilityCheck {
    package enum Outcome: Sendable, Equatable {
        case linearizable
        /// Why it is not, in a sentence.
        case violated(String)
        /// The bound on the search was reached.
        case undecided
    }

    /// The most configurations of one property that are looked at.
    package static let configurationsMax = 2_000_000

    /// Checks the operations, whose clients each wait for one to end before the next begins.
    ///
    /// - Parameters:
    ///   - history: The operations, in any order.
    ///   - start: The value of every property before the first operation.
    ///   - configurationsMax: The bound on the search, for each property.
    /// - Returns: ``Outcome/linearizable`` if every property is; ``Outcome/violated(_:)`` for the
    ///   first one that is not.
    package static func check(
        _ history: [RecordedOperation],
        start: UInt64,
        configurationsMax: Int = configurationsMax
    ) -> Outcome {
        var isUndecided = false
        let properties = Dictionary(grouping: history, by: \.property)
        for (property, operations) in properties.sorted(by: { $0.key < $1.key }) {
            var search = LinearizationSearch(operations, start: start)
            switch search.run(configurationsMax: configurationsMax) {
            case .linearizable: continue
            case .undecided: isUndecided = true
            case .violated(let why): return .violated("Property \(property): \(why)")
            }
        }
        return isUndecided ? .undecided : .linearizable
    }
}

/// The search for an order of one property's operations.
private struct LinearizationSearch {
    /// A configuration: how many operations of each client have been ordered, and the value.
    private struct Configuration: Hashable {
        var positions: [Int32]
        var value: UInt64
    }

    /// A place in the order at which there was a choice.
    private struct Branch {
        var orderedCount: Int
        /// Clients that have not been tried yet, the next one last.
        var choices: [Int]
    }

    /// Those of each client, in its order.
    private let operations: [[RecordedOperation]]
    private let count: Int

    private var current: Configuration
    /// The clients in the order found so far, and the value before each of their operations.
    private var order: [(client: Int, before: UInt64)] = []
    private var branches: [Branch] = []
    private var visited: Set<Configuration> = []
    /// For each value: how many of the operations that are left need it, and how many leave it.
    private var needs: [UInt64: Int] = [:]
    private var sources: [UInt64: Int] = [:]
    /// The furthest that any order came.
    private var furthest: (orderedCount: Int, configuration: Configuration)

    init(_ history: [RecordedOperation], start: UInt64) {
        let byClient = Dictionary(grouping: history, by: \.client)
        operations = byClient.sorted { $0.key < $1.key }.map { _, operations in
            operations.sorted { $0.invokedAt < $1.invokedAt }
        }
        for list in operations {
            for (earlier, later) in zip(list, list.dropFirst()) {
                precondition(
                    earlier.respondedAt < later.invokedAt,
                    "A client's operations must not overlap."
                )
            }
        }
        count = history.count
        current = Configuration(
            positions: [Int32](repeating: 0, count: operations.count),
            value: start
        )
        furthest = (0, current)
        for operation in history {
            count(operation, by: 1)
        }
    }

    mutating func run(configurationsMax: Int) -> LinearizabilityCheck.Outcome {
        while true {
            takeWhatChangesNothing()
            if order.count == count {
                return .linearizable
            }
            if order.count >= furthest.orderedCount {
                furthest = (order.count, current)
            }
            var choices = choices()
            if choices.count > 1, !visited.insert(current).inserted {
                choices = []
            }
            if visited.count > configurationsMax {
                return .undecided
            }
            if let choice = choices.popLast() {
                if !choices.isEmpty {
                    branches.append(Branch(orderedCount: order.count, choices: choices))
                }
                take(choice)
            } else if !tryAnotherChoice() {
                return .violated(explanation)
            }
        }
    }

    /// The operation that a client would have to be next with.
    private func next(_ client: Int) -> RecordedOperation? {
        let position = Int(current.positions[client])
        return position < operations[client].count ? operations[client][position] : nil
    }

    /// The first response among the operations that are left: what was invoked after it cannot
    /// come next.
    private var horizon: UInt64 {
        var first = UInt64.max
        for client in operations.indices {
            if let step = next(client), step.respondedAt < first {
                first = step.respondedAt
            }
        }
        return first
    }

    private mutating func takeWhatChangesNothing() {
        var hasTaken = true
        while hasTaken {
            hasTaken = false
            let horizon = horizon
            for client in operations.indices {
                guard let step = next(client), step.invokedAt < horizon,
                    step.left == nil, step.agrees(with: current.value)
                else { continue }
                take(client)
                hasTaken = true
                break
            }
        }
    }

    /// The clients whose next operation may come next and changes the value, the one that
    /// responded first last.
    ///
    /// None may while an operation that is left needs the value and nothing that is left would
    /// bring it back.
    private func choices() -> [Int] {
        let horizon = horizon
        let value = current.value
        var found: [(client: Int, respondedAt: UInt64)] = []
        for client in operations.indices {
            guard let step = next(client), step.invokedAt < horizon, let left = step.left,
                step.agrees(with: value)
            else { continue }
            let needed = needs[value, default: 0] - (step.needed == value ? 1 : 0)
            let comesBack = left == value || sources[value, default: 0] > (left == value ? 1 : 0)
            if needed == 0 || comesBack {
                found.append((client, step.respondedAt))
            }
        }
        return found.sorted { $0.respondedAt > $1.respondedAt }.map(\.client)
    }

    private mutating func take(_ client: Int) {
        guard let step = next(client) else { return }
        order.append((client, current.value))
        current.positions[client] += 1
        count(step, by: -1)
        if let left = step.left {
            current.value = left
        }
    }

    /// Goes back to the last place with a choice that was not tried, and tries it; false if there
    /// is none.
    private mutating func tryAnotherChoice() -> Bool {
        guard var branch = branches.popLast(), let choice = branch.choices.popLast() else {
            return false
        }
        while order.count > branch.orderedCount, let last = order.popLast() {
            current.positions[last.client] -= 1
            current.value = last.before
            if let step = next(last.client) {
                count(step, by: 1)
            }
        }
        if !branch.choices.isEmpty {
            branches.append(branch)
        }
        take(choice)
        return true
    }

    private mutating func count(_ step: RecordedOperation, by change: Int) {
        if let needed = step.needed {
            needs[needed, default: 0] += change
        }
        if let left = step.left {
            sources[left, default: 0] += change
        }
    }

    private var explanation: String {
        let (orderedCount, configuration) = furthest
        var next: [String] = []
        // What comes latest of all that still has to find the value.
        var keeper: RecordedOperation?
        for client in operations.indices {
            let position = Int(configuration.positions[client])
            let left = operations[client].indices.dropFirst(position)
            next += left.prefix(1).map { operations[client][$0].description }
            for operation in operations[client][left.startIndex...]
            where operation.needed == configuration.value {
                if keeper.map({ $0.invokedAt < operation.invokedAt }) ?? true {
                    keeper = operation
                }
            }
        }
        let why = keeper.map { " That value must stay, because \($0)." } ?? ""
        return """
            no order explains the history. The longest one has \(orderedCount) of \(count) \
            operations and ends with the value \(configuration.value).\(why) Next would \
            be one of: \(next.joined(separator: "; ")).
            """
    }
}

extension RecordedOperation {
    /// The value that must be there: what a read found, what a compare-and-set replaced.
    fileprivate var needed: UInt64? {
        switch action {
        case .read(let found): found
        case .compareAndSet(let expected, _, succeeded: true): expected
        case .write, .compareAndSet: nil
        }
    }

    /// The value afterwards, if the operation changes it.
    var left: UInt64? {
        switch action {
        case .write(let new), .compareAndSet(_, let new, succeeded: true): new
        case .read, .compareAndSet: nil
        }
    }

    /// Whether the operation can have been what happened when the value was there.
    fileprivate func agrees(with value: UInt64) -> Bool {
        if case .compareAndSet(let expected, _, succeeded: false) = action {
            return expected != value
        }
        return needed == nil || needed == value
    }
}

extension RecordedOperation: CustomStringConvertible {
    package var description: String {
        let what =
            switch action {
            case .read(let found): "read \(found)"
            case .write(let value): "wrote \(value)"
            case .compareAndSet(let expected, let new, let succeeded):
                "compared with \(expected) to set \(new) and \(succeeded ? "did" : "did not")"
            }
        return "client \(client) \(what) [\(invokedAt)-\(respondedAt)]"
    }
}
