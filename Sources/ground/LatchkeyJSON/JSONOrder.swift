/// Compares JSON values by size: numbers exactly, strings by their bytes in UTF-8.
package enum JSONOrder {
    /// A relation of two values.
    package enum Relation: UInt8, Sendable, CaseIterable {
        case less
        case lessOrEqual
        case greater
        case greaterOrEqual
        case notEqual
    }

    /// Whether the relation holds.
    ///
    /// Only two numbers and two strings have an order: of other values none is less or greater. Any
    /// two values are equal, as ``JSONEquality`` says, or not.
    package static func holds(_ one: JSONView, _ relation: Relation, _ other: JSONView) -> Bool {
        switch relation {
        case .less: precedes(one, other) ?? false
        case .lessOrEqual: precedes(other, one).map { !$0 } ?? false
        case .greater: precedes(other, one) ?? false
        case .greaterOrEqual: precedes(one, other).map { !$0 } ?? false
        case .notEqual: !JSONEquality.areEqual(one, other)
        }
    }

    /// Whether a value is less than another one; nil if they have no order.
    private static func precedes(_ one: JSONView, _ other: JSONView) -> Bool? {
        switch (one.kind, other.kind) {
        case (.number, .number):
            unsafe JSONDecimal.precedes(JSONDecimal(one.bytes), JSONDecimal(other.bytes))
        case (.string, .string):
            one.stringPrecedes(other)
        default:
            nil
        }
    }
}
