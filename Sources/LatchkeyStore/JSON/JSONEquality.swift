/// Compares JSON values by what they mean.
///
/// The order of members, white space, escapes and the spelling of numbers do not matter. Of
/// members with the same name, the last one counts.
package enum JSONEquality {
    /// Whether two values are equal.
    ///
    /// It takes time in proportion to both texts, and does not recurse. Numbers are compared
    /// exactly.
    package static func areEqual(_ one: JSONView, _ other: JSONView) -> Bool {
        if unsafe one.bytes.equals(other.bytes) {
            return true
        }
        guard let isEqual = areEqualScalars(one, other) else {
            var comparison = Comparison(
                one: JSONOutline(one, opensArrays: true),
                other: JSONOutline(other, opensArrays: true)
            )
            return comparison.run()
        }
        return isEqual
    }

    /// Whether two values are equal, or nil if both are objects or both are arrays.
    private static func areEqualScalars(_ one: JSONView, _ other: JSONView) -> Bool? {
        let kind = one.kind
        guard kind == other.kind else {
            return false
        }
        return switch kind {
        case .object, .array: nil
        case .string: one.equalsString(other)
        case .number: unsafe JSONDecimal.areEqual(JSONDecimal(one.bytes), JSONDecimal(other.bytes))
        case .boolean: one.boolean == other.boolean
        case .null: true
        }
    }

    private struct Comparison {
        let one: JSONOutline
        let other: JSONOutline
        /// Containers that are still to be compared.
        var pairs: ContiguousArray<(Int32, Int32)> = []
        var index = MemberIndex()

        init(one: JSONOutline, other: JSONOutline) {
            self.one = one
            self.other = other
        }

        mutating func run() -> Bool {
            pairs.append((0, 0))
            while let (node, partner) = pairs.popLast() {
                let areEqual =
                    one.kind(node) == .object
                    ? areEqualObjects(node, partner) : areEqualArrays(node, partner)
                guard areEqual else {
                    return false
                }
            }
            return true
        }

        /// Compares scalars now and containers later.
        private mutating func mayBeEqual(_ node: Int32, _ partner: Int32) -> Bool {
            let isEqual = areEqualScalars(one.view(node), other.view(partner))
            if isEqual == nil {
                pairs.append((node, partner))
            }
            return isEqual ?? true
        }

        private mutating func areEqualArrays(_ node: Int32, _ partner: Int32) -> Bool {
            var element = node + 1
            var otherElement = partner + 1
            let end = one.after(node)
            let otherEnd = other.after(partner)
            while element < end, otherElement < otherEnd {
                guard mayBeEqual(element, otherElement) else {
                    return false
                }
                element = one.after(element)
                otherElement = other.after(otherElement)
            }
            return element == end && otherElement == otherEnd
        }

        private mutating func areEqualObjects(_ node: Int32, _ partner: Int32) -> Bool {
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
                    mayBeEqual(entry.node + 1, entry.partner + 1)
                else {
                    return false
                }
            }
            return true
        }
    }
}
