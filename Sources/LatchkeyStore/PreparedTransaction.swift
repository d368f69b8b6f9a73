/// The tables that hold some properties.
@usableFromInline
struct TableSelection: Sendable {
    /// The stripes of the tables, in ascending order, each once; never empty.
    @usableFromInline let stripes: [Int]
    /// For each property, the position of its table among `stripes`.
    @usableFromInline let positions: [Int]

    /// - Parameter propertyStripes: The stripe of each property.
    @usableFromInline
    init(_ propertyStripes: [Int]) {
        guard !Self.isAscending(propertyStripes) else {
            // A commit without effects takes a revision under some table, whichever it is.
            stripes = propertyStripes.isEmpty ? [0] : propertyStripes
            positions = Array(propertyStripes.indices)
            return
        }
        var stripes = propertyStripes
        stripes.sort()
        var count = 1
        for index in 1..<stripes.count where stripes[index] != stripes[count - 1] {
            stripes[count] = stripes[index]
            count += 1
        }
        if count < stripes.count {
            stripes.removeLast(stripes.count - count)
        }
        var positions = propertyStripes
        for index in positions.indices {
            positions[index] = Self.position(of: positions[index], in: stripes)
        }
        self.stripes = stripes
        self.positions = positions
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
@usableFromInline
final class PreparedTransaction: Sendable {
    /// A step, the property that it puts, and the position of its name.
    struct Step: Sendable {
        let step: Change.Step
        let prepared: Property?
        let position: Int
    }

    /// The properties that conditions and steps name, each once.
    let names: [PropertyName]
    /// The conditions; for each the position of its name.
    let conditions: [(test: Transaction.Test, position: Int)]
    let steps: [Step]
    let otherwise: [Step]
    /// The tables of `names`.
    @usableFromInline let tables: TableSelection

    /// - Parameters:
    ///   - transaction: The transaction.
    ///   - stripe: The stripe of a property.
    @usableFromInline
    init(_ transaction: Transaction, stripe: (PropertyName) -> Int) {
        var names = DistinctNames(
            capacity: transaction.conditions.count + transaction.steps.count
                + transaction.otherwise.count
        )
        var conditions: [(test: Transaction.Test, position: Int)] = []
        conditions.reserveCapacity(transaction.conditions.count)
        for condition in transaction.conditions {
            conditions.append((condition.test, names.position(of: condition.name)))
        }
        self.conditions = conditions
        steps = Self.prepare(transaction.steps, &names)
        otherwise = Self.prepare(transaction.otherwise, &names)
        self.names = names.names
        var stripes: [Int] = []
        stripes.reserveCapacity(names.names.count)
        for name in names.names {
            stripes.append(stripe(name))
        }
        tables = TableSelection(stripes)
    }

    private static func prepare(
        _ steps: [Change.Step],
        _ names: inout DistinctNames
    ) -> [Step] {
        var prepared: [Step] = []
        prepared.reserveCapacity(steps.count)
        for step in steps {
            let position = names.position(of: step.name)
            prepared.append(Step(step: step, prepared: step.prepare(), position: position))
        }
        return prepared
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
