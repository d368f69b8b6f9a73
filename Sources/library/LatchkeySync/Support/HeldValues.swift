/// The values that were replaced and may still be read, in the order of their stamps.
///
/// **Design.** An array, of which the values before `first` are taken out already: so the cost of
/// taking some out does not depend on the number that stays. The newest is last. A value is
/// inserted from the end, because only values of simultaneous writers change places. Inserting and
/// ``trim()`` give memory back, taking out never does.
struct HeldValues {
    private var values: [Replaced] = []
    private var first = 0

    /// Memory for this many values is kept.
    static var roomKept: Int { 256 }

    /// The values that were not taken out.
    var all: ArraySlice<Replaced> { values[first...] }

    mutating func insert(_ value: Replaced) {
        if first > max(Self.roomKept, values.count / 2) {
            values.removeSubrange(..<first)
            first = 0
        }
        var index = values.endIndex
        while index > first, values[index - 1].stamp > value.stamp {
            index -= 1
        }
        values.insert(value, at: index)
    }

    /// Moves those with a stamp below `limit`, the oldest first, until `taken` has `count`.
    ///
    /// - Returns: The first stamp that remains, or `UInt64.max`.
    mutating func take(
        below limit: UInt64,
        until count: Int,
        _ taken: inout [Replaced]
    ) -> UInt64 {
        while first < values.endIndex, values[first].stamp < limit, taken.count < count {
            taken.append(values[first])
            first += 1
        }
        guard first == values.endIndex else { return values[first].stamp }
        if values.count <= Self.roomKept {
            values.removeAll(keepingCapacity: true)
            first = 0
        }
        return .max
    }

    /// Gives memory back if no value is left.
    mutating func trim() {
        if first == values.endIndex, values.capacity > Self.roomKept {
            values = []
            first = 0
        }
    }
}

/// A value that was replaced, and how to free it.
///
/// SAFETY: `@safe` because the address is used once, by `dispose`, which knows its type.
@safe
@usableFromInline struct Replaced {
    let address: UnsafeMutableRawPointer
    let stamp: UInt64
    let dispose: @Sendable (UnsafeMutableRawPointer) -> Void

    @usableFromInline init(
        _ address: UnsafeMutableRawPointer,
        stamp: UInt64,
        _ dispose: @escaping @Sendable (UnsafeMutableRawPointer) -> Void
    ) {
        unsafe self.address = address
        self.stamp = stamp
        unsafe self.dispose = dispose
    }

    func free() {
        unsafe dispose(address)
    }
}
