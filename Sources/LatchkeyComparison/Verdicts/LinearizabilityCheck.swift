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
/// order of their responses, and a configuration that was tried before is not tried again. In
/// the worst case the search is exponential, so it is bounded; the histories of a correct strategy
/// are walked nearly straight through.
package enum LinearizabilityCheck {
    package enum Outcome: Sendable, Equatable {
        case linearizable
        /// Why it is not, in a sentence.
        case violated(String)
        /// The bound on the search was reached.
        case undecided
    }

    /// How many configurations of one property are looked at.
    package static let configurationsMax = 2_000_000

    /// Checks the operations, whose clients each wait for one to end before the next begins.
    ///
    /// - Parameters:
    ///   - start: The value of every property before the first operation.
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
    /// What has been ordered so far, and what it led to.
    private struct Configuration: Hashable {
        var positions: [Int32]
        var value: UInt64
    }

    /// A configuration and what may still be tried from it, the last one first.
    private struct Branch {
        var configuration: Configuration
        var choices: [Int]
    }

    private let clients: [[RecordedOperation]]
    private var current: Configuration
    private var visited: Set<Configuration> = []
    private var branches: [Branch] = []
    private var orderedCount = 0
    /// The furthest that any order came.
    private var furthest: (orderedCount: Int, configuration: Configuration)
    private let count: Int

    init(_ operations: [RecordedOperation], start: UInt64) {
        let byClient = Dictionary(grouping: operations, by: \.client)
        clients = byClient.sorted { $0.key < $1.key }.map { _, operations in
            operations.sorted { $0.invokedAt < $1.invokedAt }
        }
        for list in clients {
            for (earlier, later) in zip(list, list.dropFirst()) {
                precondition(
                    earlier.respondedAt < later.invokedAt,
                    "A client's operations must not overlap."
                )
            }
        }
        count = operations.count
        current = Configuration(
            positions: [Int32](repeating: 0, count: clients.count),
            value: start
        )
        furthest = (0, current)
    }

    mutating func run(configurationsMax: Int) -> LinearizabilityCheck.Outcome {
        while true {
            takeWhatChangesNothing()
            if orderedCount == count {
                return .linearizable
            }
            if orderedCount > furthest.orderedCount {
                furthest = (orderedCount, current)
            }
            let choices = choices()
            if choices.count > 1 {
                if visited.count >= configurationsMax {
                    return .undecided
                }
                if visited.insert(current).inserted {
                    branches.append(Branch(configuration: current, choices: choices))
                } else if !backtrack() {
                    return .violated(explanation)
                }
                if !takeNextChoice() {
                    return .violated(explanation)
                }
            } else if let only = choices.first {
                take(only)
            } else if !backtrack() || !takeNextChoice() {
                return .violated(explanation)
            }
        }
    }

    /// The operation that a client would have to be next with.
    private func next(_ client: Int) -> RecordedOperation? {
        let position = Int(current.positions[client])
        return position < clients[client].count ? clients[client][position] : nil
    }

    /// The first response among the operations that are left: what was invoked after it cannot
    /// come next.
    private var horizon: UInt64 {
        var first = UInt64.max
        for client in clients.indices {
            if let operation = next(client), operation.respondedAt < first {
                first = operation.respondedAt
            }
        }
        return first
    }

    private mutating func takeWhatChangesNothing() {
        var hasTaken = true
        while hasTaken {
            hasTaken = false
            let horizon = horizon
            for client in clients.indices {
                guard let operation = next(client), operation.invokedAt < horizon,
                    operation.action.agreesWithoutChanging(current.value)
                else { continue }
                take(client)
                hasTaken = true
                break
            }
        }
    }

    /// The clients whose next operation may come next and changes the value, the one that
    /// responded first last.
    private func choices() -> [Int] {
        let horizon = horizon
        var found: [(client: Int, respondedAt: UInt64)] = []
        for client in clients.indices {
            guard let operation = next(client), operation.invokedAt < horizon,
                operation.action.change(of: current.value) != nil
            else { continue }
            found.append((client, operation.respondedAt))
        }
        return found.sorted { $0.respondedAt > $1.respondedAt }.map(\.client)
    }

    private mutating func take(_ client: Int) {
        if let operation = next(client), let value = operation.action.change(of: current.value) {
            current.value = value
        }
        current.positions[client] += 1
        orderedCount += 1
    }

    /// Drops the branches from which nothing is left to try; false if none remains.
    private mutating func backtrack() -> Bool {
        while let branch = branches.last, branch.choices.isEmpty {
            branches.removeLast()
        }
        return !branches.isEmpty
    }

    /// Goes on from the last branch with what is to be tried next there.
    private mutating func takeNextChoice() -> Bool {
        guard !branches.isEmpty, let choice = branches[branches.count - 1].choices.popLast() else {
            return false
        }
        current = branches[branches.count - 1].configuration
        orderedCount = current.positions.reduce(0) { $0 + Int($1) }
        take(choice)
        return true
    }

    private var explanation: String {
        let left = clients.indices.compactMap { client -> String? in
            let position = Int(furthest.configuration.positions[client])
            guard position < clients[client].count else { return nil }
            return clients[client][position].description
        }
        return """
            no order explains the history. The longest one has \(furthest.orderedCount) of \
            \(count) operations and ends with the value \(furthest.configuration.value); next \
            would be one of: \(left.joined(separator: "; ")).
            """
    }
}

extension RecordedOperation.Action {
    /// Whether the operation agrees with the value and leaves it as it is.
    fileprivate func agreesWithoutChanging(_ value: UInt64) -> Bool {
        switch self {
        case .read(let found): found == value
        case .write: false
        case .compareAndSet(let expected, let new, let succeeded):
            succeeded ? expected == value && new == value : expected != value
        }
    }

    /// The value after the operation, or `nil` if it cannot have been what happened, or changes
    /// nothing.
    fileprivate func change(of value: UInt64) -> UInt64? {
        switch self {
        case .read: nil
        case .write(let new): new
        case .compareAndSet(let expected, let new, let succeeded):
            succeeded && expected == value ? new : nil
        }
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
