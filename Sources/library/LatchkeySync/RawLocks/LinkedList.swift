/// An element of a ``LinkedList``, of one at a time.
protocol Linked: AnyObject {
    var previous: Self? { get set }
    var next: Self? { get set }
}

/// Objects in a row, linked both ways, so that each leaves it in one step.
///
/// The list keeps its objects.
struct LinkedList<Element: Linked> {
    private(set) var first: Element?
    private var last: Element?

    mutating func append(_ element: Element) {
        element.previous = last
        if let last {
            last.next = element
        } else {
            first = element
        }
        last = element
    }

    mutating func prepend(_ element: Element) {
        element.next = first
        if let first {
            first.previous = element
        } else {
            last = element
        }
        first = element
    }

    mutating func remove(_ element: Element) {
        if let previous = element.previous {
            previous.next = element.next
        } else {
            first = element.next
        }
        if let next = element.next {
            next.previous = element.previous
        } else {
            last = element.previous
        }
        (element.previous, element.next) = (nil, nil)
    }
}
