/// A model of a system that executes one operation after the other.
public protocol SequentialModel: Hashable, Sendable {
    /// An operation, with the answer that its client got.
    associatedtype Operation: Sendable & CustomStringConvertible

    /// The state after the operation; nil if the operation cannot have had its answer here.
    func after(_ operation: Operation) -> Self?
}

/// An operation as its client saw it.
public struct Observed<Operation: Sendable & CustomStringConvertible>: Sendable {
    /// The client, which has one operation at a time.
    public let client: Int
    /// The operation and its answer.
    public let operation: Operation
    /// Taken before the operation began, from one count for all clients.
    public let invokedAt: Int
    /// Taken after the operation had ended, from the same count.
    public let respondedAt: Int

    /// An operation between two instants.
    public init(client: Int, _ operation: Operation, invokedAt: Int, respondedAt: Int) {
        self.client = client
        self.operation = operation
        self.invokedAt = invokedAt
        self.respondedAt = respondedAt
    }
}

/// Whether operations at the same time have an order that explains their answers.
///
/// **Design.** Wing and Gong's search, with Lowe's memory of configurations. Operations that leave
/// the state as it is are taken at once. Where there is a choice, the operation that responded
/// first is tried first.
public enum ModelCheck {
    /// The result of a check.
    public enum Outcome: Equatable {
        /// There is such an order.
        case linearizable
        /// There is none, and how far the longest one came.
        case violated(String)
        /// The limit of the search was reached.
        case undecided
    }

    /// Looks for an order of the operations, which begins with a state.
    public static func check<Model: SequentialModel>(
        _ history: [Observed<Model.Operation>],
        from start: Model,
        configurationsMax: Int = 200_000
    ) -> Outcome {
        var search = ModelSearch(history, start)
        return search.run(configurationsMax)
    }
}

private struct ModelSearch<Model: SequentialModel> {
    /// How many operations of each client were taken, and the state after them.
    fileprivate struct Configuration: Hashable {
        var positions: [Int]
        var state: Model
    }

    /// The operations of each client, in order.
    private let clients: [[Observed<Model.Operation>]]
    private var current: Configuration
    /// Configurations that are still to be tried, the next one last.
    private var rest: [Configuration] = []
    private var visited: Set<Configuration> = []
    private var furthest: Configuration

    init(_ history: [Observed<Model.Operation>], _ start: Model) {
        clients = Dictionary(grouping: history, by: \.client).sorted { $0.key < $1.key }.map {
            $0.value.sorted { $0.invokedAt < $1.invokedAt }
        }
        current = Configuration(positions: clients.map { _ in 0 }, state: start)
        furthest = current
    }

    mutating func run(_ configurationsMax: Int) -> ModelCheck.Outcome {
        while true {
            takeWhatChangesNothing()
            if current.count > furthest.count {
                furthest = current
            }
            let next = next()
            guard !next.isEmpty else {
                return .linearizable
            }
            if visited.insert(current).inserted {
                guard visited.count <= configurationsMax else {
                    return .undecided
                }
                // The one that responded first is tried first.
                for candidate in next.sorted(by: { $0.respondedAt > $1.respondedAt }) {
                    if let state = current.state.after(candidate.operation) {
                        rest.append(current.taking(candidate.index, state))
                    }
                }
            }
            guard let configuration = rest.popLast() else {
                return .violated(explanation)
            }
            current = configuration
        }
    }

    private struct Candidate {
        let index: Int
        let operation: Model.Operation
        let respondedAt: Int
    }

    /// The operations that may come next: they were invoked before any that is left had responded.
    private func next() -> [Candidate] {
        let left = clients.indices.compactMap { index -> (Int, Observed<Model.Operation>)? in
            let position = current.positions[index]
            return position < clients[index].count ? (index, clients[index][position]) : nil
        }
        let horizon = left.map(\.1.respondedAt).min() ?? 0
        return left.filter { $0.1.invokedAt < horizon }.map { index, observed in
            Candidate(
                index: index,
                operation: observed.operation,
                respondedAt: observed.respondedAt
            )
        }
    }

    private mutating func takeWhatChangesNothing() {
        while let candidate = next().first(where: {
            current.state.after($0.operation) == current.state
        }) {
            current = current.taking(candidate.index, current.state)
        }
    }

    private var explanation: String {
        var next: [String] = []
        for (index, position) in furthest.positions.enumerated()
        where position < clients[index].count {
            let observed = clients[index][position]
            next.append(
                "client \(index): \(observed.operation) "
                    + "[\(observed.invokedAt)-\(observed.respondedAt)]"
            )
        }
        return """
            The longest order has \(furthest.count) of \(clients.reduce(0) { $0 + $1.count }) \
            operations and ends with \(furthest.state). Next would be one of:
            \(next.joined(separator: "\n"))
            """
    }
}

extension ModelSearch.Configuration {
    fileprivate var count: Int { positions.reduce(0, +) }

    fileprivate func taking(_ client: Int, _ state: Model) -> Self {
        var next = self
        next.positions[client] += 1
        next.state = state
        return next
    }
}
