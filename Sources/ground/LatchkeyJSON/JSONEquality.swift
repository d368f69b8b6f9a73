/// Compares JSON values by what they mean.
///
/// The order of members, white space, escapes and the spelling of numbers do not matter. Of members
/// with the same name, only the last one is compared.
package enum JSONEquality {
    /// How many values, of both together, are compared for one unit of work.
    private static let nodesPerUnit = 8

    /// Whether two values are equal.
    ///
    /// It takes time in proportion to both texts, and does not recurse. Numbers are compared
    /// exactly.
    package static func areEqual(_ one: JSONView, _ other: JSONView) -> Bool {
        var units = JSONWork.unbounded
        return areEqual(one, other, within: &units) ?? false
    }

    /// Whether two values are equal; nil if that is more work than there are units, which become
    /// fewer.
    ///
    /// Eight values are a unit. If the members of some object are not where those of the other
    /// are, all members count one more, and the square of their number by 16,384: the index of
    /// many members does not fit the processor's caches. 32 bytes of two numbers are one more.
    package static func areEqual(
        _ one: JSONView,
        _ other: JSONView,
        within units: inout Int
    ) -> Bool? {
        if unsafe one.bytes.equals(other.bytes) {
            return true
        }
        if let isEqual = areEqualScalars(one, other, &units) {
            return units < 0 ? nil : isEqual
        }
        func outline(_ value: JSONView) -> JSONOutline? {
            JSONOutline(value, opensArrays: true, nodesPerUnit: nodesPerUnit, within: &units)
        }
        guard let one = outline(one), let other = outline(other) else {
            return nil
        }
        var comparison = Comparison(one: one, other: other)
        if comparison.areEqualInOrder(&units) {
            return true
        }
        return units < 0 ? nil : comparison.run(within: &units)
    }

    /// Whether two values are equal, or nil if both are objects or both are arrays.
    ///
    /// False if the units fall below 0, which the caller checks.
    private static func areEqualScalars(
        _ one: JSONView,
        _ other: JSONView,
        _ units: inout Int
    ) -> Bool? {
        let kind = one.kind
        guard kind == other.kind else {
            return false
        }
        if kind != .object, kind != .array, unsafe one.bytes.equals(other.bytes) {
            return true
        }
        switch kind {
        case .object, .array: return nil
        case .string: return one.equalsString(other)
        case .number:
            units -= unsafe (one.bytes.count + other.bytes.count) / JSONWork.digitsPerUnit
            guard units >= 0 else { return false }
            return unsafe JSONDecimal.areEqual(JSONDecimal(one.bytes), JSONDecimal(other.bytes))
        case .boolean: return one.boolean == other.boolean
        case .null: return true
        }
    }

    private struct Comparison {
        let one: JSONOutline
        let other: JSONOutline
        /// Containers that are still to be compared.
        var pairs: ContiguousArray<(Int32, Int32)> = []
        var index = MemberIndex()
        /// Members, of both values together, that were found by their names.
        var memberCount = 0

        init(one: JSONOutline, other: JSONOutline) {
            self.one = one
            self.other = other
        }

        /// Whether all values at the same places are equal: then the texts are equal.
        ///
        /// Also where members with the same name follow each other.
        func areEqualInOrder(_ units: inout Int) -> Bool {
            guard one.nodes.count == other.nodes.count else {
                return false
            }
            return one.nodes.indices.allSatisfy { index in
                let node = Int32(index)
                return JSONEquality.areEqualScalars(one.view(node), other.view(node), &units)
                    ?? (one.after(node) == other.after(node))
            }
        }

        /// Whether all values are equal, where members are found by their names.
        ///
        /// Nil if there are too few units.
        mutating func run(within units: inout Int) -> Bool? {
            pairs.append((0, 0))
            while let (node, partner) = pairs.popLast() {
                let isObject = one.kind(node) == .object
                guard !isObject || take(node, partner, &units) else {
                    return nil
                }
                let areEqual =
                    isObject
                    ? areEqualObjects(node, partner, &units)
                    : areEqualArrays(node, partner, &units)
                guard areEqual else {
                    return units < 0 ? nil : false
                }
            }
            return true
        }

        /// Takes the units of two objects, whose members are to be found.
        private mutating func take(_ node: Int32, _ partner: Int32, _ units: inout Int) -> Bool {
            let count = one.memberCount(node) + other.memberCount(partner)
            let square = memberCount * memberCount / JSONWork.squareOfBothPerUnit
            memberCount += count
            units -= count / 2
            units -= memberCount * memberCount / JSONWork.squareOfBothPerUnit - square
            return units >= 0
        }

        /// Compares scalars now and containers later.
        private mutating func mayBeEqual(
            _ node: Int32,
            _ partner: Int32,
            _ units: inout Int
        ) -> Bool {
            let isEqual = areEqualScalars(one.view(node), other.view(partner), &units)
            if isEqual == nil {
                pairs.append((node, partner))
            }
            return isEqual ?? true
        }

        private mutating func areEqualArrays(
            _ node: Int32,
            _ partner: Int32,
            _ units: inout Int
        ) -> Bool {
            var element = node + 1
            var otherElement = partner + 1
            let end = one.after(node)
            let otherEnd = other.after(partner)
            while element < end, otherElement < otherEnd {
                guard mayBeEqual(element, otherElement, &units) else {
                    return false
                }
                element = one.after(element)
                otherElement = other.after(otherElement)
            }
            return element == end && otherElement == otherEnd
        }

        private mutating func areEqualObjects(
            _ node: Int32,
            _ partner: Int32,
            _ units: inout Int
        ) -> Bool {
            index.removeAll()
            var name = node + 1
            while name < one.after(node) {
                _ = index.set(one.view(name), node: name)
                name = one.after(name + 1)
            }
            name = partner + 1
            while name < other.after(partner) {
                guard let place = index.find(other.view(name)) else {
                    return false
                }
                _ = index.setPartner(name, at: place)
                name = other.after(name + 1)
            }
            for entry in index.entries {
                guard entry.partner != JSONOutline.none,
                    mayBeEqual(entry.node + 1, entry.partner + 1, &units)
                else {
                    return false
                }
            }
            return true
        }
    }
}

/// The cost of parsing JSON texts, in the units of ``ChangeWork``.
package enum JSONWork {
    /// More than any text needs.
    package static let unbounded = Int.max / 1024
    /// The square of the members of two objects that is one unit: 128 members of each.
    package static let squareOfBothPerUnit = 256 * 256
    /// How many bytes of two numbers are compared for one unit.
    package static let digitsPerUnit = 32
}

extension JSONOutline {
    /// How many members an object has.
    fileprivate func memberCount(_ object: Int32) -> Int {
        var count = 0
        var name = object + 1
        while name < after(object) {
            count += 1
            name = after(name + 1)
        }
        return count
    }
}
