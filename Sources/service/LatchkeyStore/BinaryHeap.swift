/// A queue whose first element precedes all others: a binary heap in an array.
struct BinaryHeap<Element: Precedable> {
    private var elements: [Element] = []

    var first: Element? { elements.first }
    var count: Int { elements.count }

    init() {}

    init(_ elements: consuming [Element]) {
        self.elements = consume elements
        for index in stride(from: self.elements.count / 2 - 1, through: 0, by: -1) {
            siftDown(index)
        }
    }

    mutating func insert(_ element: Element) {
        elements.append(element)
        var child = elements.count - 1
        while child > 0, elements[child].precedes(elements[(child - 1) / 2]) {
            elements.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func removeFirst() {
        elements.swapAt(0, elements.count - 1)
        elements.removeLast()
        siftDown(0)
    }

    /// Changes the first element and puts it where it belongs.
    mutating func updateFirst(_ change: (inout Element) -> Void) {
        change(&elements[0])
        siftDown(0)
    }

    private mutating func siftDown(_ start: Int) {
        var parent = start
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < elements.count {
                if elements[child].precedes(elements[least]) {
                    least = child
                }
            }
            guard least != parent else {
                return
            }
            elements.swapAt(parent, least)
            parent = least
        }
    }
}

extension BinaryHeap: Sendable where Element: Sendable {}

/// An element of a ``BinaryHeap``.
protocol Precedable {
    func precedes(_ other: Self) -> Bool
}
