/// The tables that hold some properties.
struct TableSelection: Sendable {
    /// The stripes of the tables, in ascending order, each once; never empty.
    let stripes: [Int]
    /// For each property, the position of its table among `stripes`.
    let positions: [Int]

    /// - Parameter propertyStripes: The stripe of each property.
    init(_ propertyStripes: consuming [Int]) {
        var positions = propertyStripes
        guard !Self.isAscending(positions) else {
            self.positions = Array(positions.indices)
            // A commit without effects takes its revision under any table.
            stripes = positions.isEmpty ? [0] : positions
            return
        }
        var stripes = positions
        stripes.sort()
        var count = 1
        for index in 1..<stripes.count where stripes[index] != stripes[count - 1] {
            stripes[count] = stripes[index]
            count += 1
        }
        if count < stripes.count {
            stripes.removeLast(stripes.count - count)
        }
        for index in positions.indices {
            positions[index] = Self.position(of: positions[index], in: stripes)
        }
        self.stripes = stripes
        self.positions = positions
    }

    /// All tables.
    init(all count: Int, _ propertyStripes: [Int]) {
        stripes = Array(0..<count)
        positions = propertyStripes
    }

    private static func isAscending(_ stripes: [Int]) -> Bool {
        for index in stripes.indices.dropFirst() where stripes[index - 1] >= stripes[index] {
            return false
        }
        return true
    }

    /// A binary search: imports select hundreds of properties.
    private static func position(of stripe: Int, in stripes: [Int]) -> Int {
        var low = 0
        var high = stripes.count - 1
        while low < high {
            let middle = (low + high) / 2
            if stripes[middle] < stripe {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }
}

/// A transaction, ready to be executed.
///
/// It has all that the execution needs, so that the closure that executes it is this object, and
/// not one more allocation.
final class PreparedTransaction: Sendable {
    /// The prepared parts of a step: the property that it puts, and the position of its name.
    struct Step: Sendable {
        let property: Property?
        let position: Int
    }

    let transaction: Transaction
    /// The time of the execution; nil for that of the store's clock.
    let time: Timestamp?
    /// The properties that conditions and steps name, each once.
    let names: [PropertyName]
    /// For each condition the position of its name.
    let conditions: [Int]
    let steps: [Step]
    let otherwise: [Step]
    /// The tables of `names`; all tables if a step takes a prefix.
    let tables: TableSelection
    let takesPrefixes: Bool
    let isExpiry: Bool
    /// How many pairs of prefixes its pops with claims have.
    let claimPairCount: Int

    /// - Parameters:
    ///   - transaction: The transaction.
    ///   - time: The time of the execution; nil for that of the store's clock.
    ///   - stripeCount: The number of stripes.
    ///   - stripe: The stripe of a property.
    init(
        _ transaction: Transaction,
        at time: Timestamp?,
        stripeCount: Int,
        stripe: (PropertyName) -> Int
    ) {
        self.transaction = transaction
        self.time = time
        var names = DistinctNames(
            capacity: transaction.conditions.count + transaction.steps.count
                + transaction.otherwise.count
        )
        conditions = transaction.conditions.map { names.position(of: $0.name) }
        steps = Self.prepare(transaction.steps, &names)
        otherwise = Self.prepare(transaction.otherwise, &names)
        self.names = names.names
        takesPrefixes = transaction.takesPrefixes
        isExpiry = transaction.isExpiry
        claimPairCount = takesPrefixes ? transaction.claimPairCount : 0
        let stripes = names.names.map(stripe)
        tables =
            takesPrefixes
            ? TableSelection(all: stripeCount, stripes) : TableSelection(stripes)
    }

    private static func prepare(
        _ steps: [Change.Step],
        _ names: inout DistinctNames
    ) -> [Step] {
        // By their indices, because a step is long to copy.
        steps.indices.map { index in
            Step(
                property: steps[index].prepare(),
                position: names.position(of: steps[index].name)
            )
        }
    }
}

/// Names, each once, in the order in which they came.
///
/// A few names are searched one after the other, more by a hash table.
private struct DistinctNames {
    private static let searchedCountMax = 8

    private(set) var names: [PropertyName] = []
    /// Empty for a few names.
    private var positions: [PropertyName: Int] = [:]

    init(capacity: Int) {
        names.reserveCapacity(capacity)
        if capacity > Self.searchedCountMax {
            positions.reserveCapacity(capacity)
        }
    }

    mutating func position(of name: PropertyName) -> Int {
        if let position = find(name) {
            return position
        }
        names.append(name)
        if names.count == Self.searchedCountMax + 1 {
            for (position, name) in names.enumerated() {
                positions[name] = position
            }
        } else if names.count > Self.searchedCountMax {
            positions[name] = names.count - 1
        }
        return names.count - 1
    }

    private func find(_ name: PropertyName) -> Int? {
        guard names.count <= Self.searchedCountMax else {
            return positions[name]
        }
        for index in names.indices where names[index] == name {
            return index
        }
        return nil
    }
}
