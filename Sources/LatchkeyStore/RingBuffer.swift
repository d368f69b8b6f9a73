/// A queue in an array whose places are used again.
struct RingBuffer<Element: Sendable>: Sendable {
    /// As many as a power of two.
    private var slots: [Element?] = Array(repeating: nil, count: 16)
    private var start = 0
    private(set) var count = 0

    private var mask: Int { slots.count - 1 }

    /// The element at this distance from the first one.
    subscript(index: Int) -> Element {
        guard index >= 0, index < count, let element = slots[(start + index) & mask] else {
            preconditionFailure("The index is within the queue.")
        }
        return element
    }

    mutating func append(_ element: Element) {
        if count == slots.count {
            slots = (0..<count).map { self[$0] } + Array(repeating: nil, count: count)
            start = 0
        }
        slots[(start + count) & mask] = element
        count += 1
    }

    mutating func popFirst() -> Element? {
        guard count > 0 else {
            return nil
        }
        defer {
            start = (start + 1) & mask
            count -= 1
        }
        return slots[start].take()
    }
}
