package import LatchkeyHTTP
internal import LatchkeyStore

/// Waiting elements, taken in turns of their clients: a client with many elements delays only
/// itself.
///
/// Each client has a line, in which the first to come is the first to go. A client without waiting
/// elements takes no memory.
package struct ClientTurns<Element: Sendable>: Sendable {
    /// Nil is the service itself.
    private var lines: [ClientKey?: RingBuffer<Element>] = [:]
    /// The clients that have a line, the next one first.
    private var order = RingBuffer<ClientKey?>()

    package init() {}

    package mutating func append(_ element: Element, of client: ClientKey?) {
        if lines[client] == nil {
            order.append(client)
        }
        lines[client, default: RingBuffer()].append(element)
    }

    /// Takes the first of the client whose turn it is.
    package mutating func popFirst() -> Element? {
        guard let client = order.popFirst(), let element = lines[client]?.popFirst() else {
            return nil
        }
        if lines[client]?.count == 0 {
            lines[client] = nil
        } else {
            order.append(client)
        }
        return element
    }
}
