/// The patterns of a table of routes as a tree of segments, and the checks of the table.
///
/// Among the children of one node there is never a literal beside a name in braces, so that every
/// path has one way down at most, and the first child that fits is the right one.
struct RouteTree: Sendable {
    static let routesMax = Int(Int16.max)

    /// The root comes first; the others refer to each other by their index.
    private(set) var nodes = [RouteNode(literalStart: 0, literalCount: 0, isCapture: false)]
    private var literals: [UInt8] = []

    init(_ routes: [Route]) throws(RouteTableError) {
        guard routes.count <= RouteTree.routesMax else { throw .tooManyRoutes }
        for (index, route) in routes.enumerated() {
            switch route.method {
            case .head, .options, .other: throw .badMethod(route.pattern)
            case .get, .put, .post, .patch, .delete: break
            }
            let segments = try RouteTree.segments(of: route.pattern)
            var node = 0
            for segment in segments {
                node = try descend(from: node, to: segment, of: route.pattern)
            }
            guard nodes[node].route(for: route.method) < 0 else {
                throw .duplicate(route.pattern)
            }
            nodes[node].setRoute(index, for: route.method)
        }
    }

    /// The node that has routes for this path, or nil.
    ///
    /// - Parameters:
    ///   - path: as it was sent.
    ///   - capture: set to the segment that stands for the name in braces.
    /// - Returns: the node's index.
    func find(_ path: Bytes, _ capture: inout Bytes) -> Int? {
        guard path.first == UInt8(ascii: "/") else { return nil }
        var node = 0
        var start = 1
        while start < path.count || (start == path.count && node != 0) {
            let end = path.index(of: UInt8(ascii: "/"), from: start)
            guard end > start else { return nil }
            let segment = path.range(start, end)
            node = child(of: node, for: segment)
            guard node != RouteNode.noChild else { return nil }
            if nodes[node].isCapture {
                capture = segment
            }
            start = end + 1
        }
        return nodes[node].hasRoutes ? node : nil
    }

    @inline(__always)
    private func child(of node: Int, for segment: Bytes) -> Int {
        var index = nodes[node].firstChild
        while index != RouteNode.noChild && !matches(index, segment) {
            index = nodes[index].nextSibling
        }
        return index
    }

    @inline(__always)
    private func matches(_ node: Int, _ segment: Bytes) -> Bool {
        nodes[node].isCapture
            || (nodes[node].literalCount == segment.count
                && segment.isPart(of: literals, at: nodes[node].literalStart))
    }
}

extension RouteTree {
    /// A literal, or nil for a name in braces.
    private typealias Segment = [UInt8]?

    /// Goes to the child for this segment, and makes it if it is not there.
    private mutating func descend(
        from parent: Int,
        to segment: Segment,
        of pattern: String
    ) throws(RouteTableError) -> Int {
        var child = nodes[parent].firstChild
        var last = RouteNode.noChild
        while child != RouteNode.noChild {
            let node = nodes[child]
            guard node.isCapture == (segment == nil) else { throw .ambiguous(pattern) }
            let literal = literals[node.literalStart...].prefix(node.literalCount)
            if segment.map({ $0.elementsEqual(literal) }) ?? true {
                return child
            }
            last = child
            child = node.nextSibling
        }
        let added = RouteNode(
            literalStart: literals.count,
            literalCount: segment?.count ?? 0,
            isCapture: segment == nil
        )
        literals += segment ?? []
        // After the others, so that the routes that come first in the table are found first.
        if last == RouteNode.noChild {
            nodes[parent].firstChild = nodes.count
        } else {
            nodes[last].nextSibling = nodes.count
        }
        nodes.append(added)
        return nodes.count - 1
    }

    private static func segments(of pattern: String) throws(RouteTableError) -> [Segment] {
        let slash = UInt8(ascii: "/")
        let bytes = Array(pattern.utf8)
        let isPlain = bytes.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "%") }
        guard isPlain, bytes.first == slash else { throw .badPattern(pattern) }
        if bytes.count == 1 { return [] }
        var result: [Segment] = []
        for part in bytes.dropFirst().split(separator: slash, omittingEmptySubsequences: false) {
            let opens = part.first == UInt8(ascii: "{")
            let closes = part.last == UInt8(ascii: "}")
            let braces = part.filter { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "}") }.count
            guard !part.isEmpty, opens == closes, braces == (opens ? 2 : 0) else {
                throw .badPattern(pattern)
            }
            result.append(opens ? nil : Array(part))
        }
        guard result.count(where: { $0 == nil }) <= 1 else { throw .badPattern(pattern) }
        return result
    }
}
