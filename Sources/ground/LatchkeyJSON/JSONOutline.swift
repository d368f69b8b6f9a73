/// Where every value of a JSON text begins and ends.
///
/// It is made in one pass, without recursion. Algorithms that walk a whole text use it, because
/// views scan each value once for every level that it is nested in.
///
/// Nodes stand in the order of the text. The children of an object are a name and a value in turn.
///
/// SAFETY: `@safe` because it reads what the view of the text may read.
@safe
struct JSONOutline {
    struct Node {
        let start: Int
        /// Where the value ends.
        fileprivate(set) var end: Int
        /// The node after this one and its children.
        ///
        /// While a container is open, the container around it.
        fileprivate(set) var after: Int32
        /// The algorithm's note on the node: a node of another outline, or a mark below 0.
        var partner: Int32 = JSONOutline.none
    }

    /// The mark of a node that no algorithm has touched; also the place of no node.
    static let none: Int32 = -1

    let text: UnsafeRawBufferPointer
    private(set) var nodes: ContiguousArray<Node> = []

    /// The outline of a value, whose arrays can be left closed, as if they were scalars.
    ///
    /// It takes one unit of work for a fixed number of nodes; nil if there are too few units, and
    /// then no more nodes are made.
    init?(
        _ value: JSONView,
        opensArrays: Bool,
        nodesPerUnit: Int,
        within units: inout Int
    ) {
        let nodeCountMax = units * nodesPerUnit
        defer { units -= nodes.count / nodesPerUnit }
        unsafe text = value.bytes
        // Memory that is reserved but not used costs nothing: large blocks come as fresh pages.
        unsafe nodes.reserveCapacity(8 + text.count / 16)
        var open = Self.none
        var index = 0
        while unsafe index < text.count {
            guard nodes.count <= nodeCountMax else { return nil }
            switch unsafe text[index] {
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                let closed = Int(open)
                open = nodes[closed].after
                index += 1
                nodes[closed].end = index
                nodes[closed].after = Int32(nodes.count)
            case UInt8(ascii: "{"):
                append(index, end: index, after: &open)
                index += 1
            case UInt8(ascii: "[") where opensArrays:
                append(index, end: index, after: &open)
                index += 1
            default:
                let end = unsafe JSONScan.valueEnd(text, index)
                let after = Int32(nodes.count + 1)
                nodes.append(Node(start: index, end: end, after: after))
                index = end
            }
            index = unsafe JSONScan.nextToken(text, index)
        }
    }

    /// Appends a container, which becomes the one that is open.
    private mutating func append(_ start: Int, end: Int, after open: inout Int32) {
        nodes.append(Node(start: start, end: end, after: open))
        open = Int32(nodes.count - 1)
    }

    func view(_ node: Int32) -> JSONView {
        let node = nodes[Int(node)]
        return unsafe JSONView(text, node.start, node.end)
    }

    func kind(_ node: Int32) -> JSONView.Kind {
        view(node).kind
    }

    /// The node that follows a node and its children.
    func after(_ node: Int32) -> Int32 {
        nodes[Int(node)].after
    }

    subscript(partner node: Int32) -> Int32 {
        get { nodes[Int(node)].partner }
        set { nodes[Int(node)].partner = newValue }
    }
}
