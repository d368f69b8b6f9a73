/// The values of an object's members, by the place of their names in a list.
///
/// Stored in place, because every step of a transaction is read with them.
package struct JSONMembers {
    package static let countMax = 16

    @usableFromInline var values = InlineArray<16, JSONView?>(repeating: nil)

    /// A bit for each place that has a value, the first one lowest.
    @usableFromInline
    package internal(set) var places: UInt16 = 0

    package init() {}

    @inlinable
    package subscript(index: Int) -> JSONView? { values[index] }

    @inlinable
    package mutating func set(_ value: JSONView, at index: Int) {
        values[index] = value
        places |= 1 << UInt16(index)
    }

    @inlinable
    package func has(_ index: Int) -> Bool {
        places & 1 << UInt16(index) != 0
    }
}
