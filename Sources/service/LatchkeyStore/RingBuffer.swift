/// A queue in an array whose places are used again.
package struct RingBuffer<Element: Sendable>: Sendable {
    /// Their number is a power of two.
    private var slots: [Element?] = Array(repeating: nil, count: 16)
    private var start = 0
    /// How many elements there are.
    package private(set) var count = 0

    private var mask: Int { slots.count - 1 }

    /// Makes an empty queue.
    package init() {}

    /// The element that was added first.
    package var first: Element? { count > 0 ? self[0] : nil }

    /// The element at this distance from the first one.
    package subscript(index: Int) -> Element {
        guard index >= 0, index < count, let element = slots[(start + index) & mask] else {
            preconditionFailure("The index is within the queue.")
        }
        return element
    }

    /// Adds an element at the end.
    package mutating func append(_ element: Element) {
        if count == slots.count {
            slots = (0..<count).map { self[$0] } + Array(repeating: nil, count: count)
            start = 0
        }
        slots[(start + count) & mask] = element
        count += 1
    }

    /// Changes the element at this distance from the first one.
    package mutating func change(_ index: Int, _ body: (inout Element) -> Void) {
        precondition(index >= 0 && index < count, "The index is within the queue.")
        if var element = slots[(start + index) & mask].take() {
            body(&element)
            slots[(start + index) & mask] = element
        }
    }

    /// Takes the first element; nil if there is none.
    package mutating func popFirst() -> Element? {
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
