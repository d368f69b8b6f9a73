/// The values of an object's members, by the place of their names in a list.
///
/// In place, because every step of a transaction is read by them.
package struct JSONMembers {
    static let countMax = 12

    private var values = InlineArray<12, JSONView?>(repeating: nil)

    package subscript(index: Int) -> JSONView? {
        get { values[index] }
        set { values[index] = newValue }
    }

    /// The first place that has a value.
    var first: Int? {
        for index in 0..<Self.countMax where values[index] != nil {
            return index
        }
        return nil
    }

    /// How many of these places have values.
    func count(in places: Range<Int>) -> Int {
        var count = 0
        for index in places where values[index] != nil {
            count += 1
        }
        return count
    }
}
