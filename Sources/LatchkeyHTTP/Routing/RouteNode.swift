/// One segment of the patterns of a router, and the routes that end there.
struct RouteNode: Sendable {
    static let noChild = -1

    let literal: [UInt8]
    let isCapture: Bool
    var firstChild = RouteNode.noChild
    var nextSibling = RouteNode.noChild
    /// The methods of the routes that end here, for the `Allow` field. Empty if none do.
    var allow = ""
    /// By the raw value of the method; negative if there is no route.
    private var routes: InlineArray<8, Int16> = .init(repeating: -1)

    init(literal: [UInt8], isCapture: Bool) {
        self.literal = literal
        self.isCapture = isCapture
    }

    func route(for method: HTTPMethod) -> Int {
        let asked = method == .head ? HTTPMethod.get : method
        return Int(routes[Int(asked.rawValue)])
    }

    func matches(_ segment: Bytes) -> Bool {
        if isCapture { return true }
        guard literal.count == segment.count else { return false }
        for index in 0..<literal.count where literal[index] != segment[index] {
            return false
        }
        return true
    }
}

extension RouteNode {
    /// Makes the tree, with its root first, and checks the table.
    static func tree(of routes: [Route]) throws(RouteTableError) -> [RouteNode] {
        var nodes = [RouteNode(literal: [], isCapture: false)]
        for (index, route) in routes.enumerated() {
            switch route.method {
            case .head, .options, .other: throw .badMethod(route.pattern)
            case .get, .put, .post, .patch, .delete: break
            }
            var node = 0
            var captures = 0
            for segment in try segments(of: route.pattern) {
                captures += segment.isCapture ? 1 : 0
                guard captures <= 1 else { throw .badPattern(route.pattern) }
                node = try descend(&nodes, from: node, to: segment, of: route.pattern)
            }
            guard nodes[node].route(for: route.method) < 0 else {
                throw .duplicate(route.pattern)
            }
            nodes[node].routes[Int(route.method.rawValue)] = Int16(index)
        }
        for index in nodes.indices {
            nodes[index].allow = nodes[index].allowedMethods()
        }
        return nodes
    }

    private static func descend(
        _ nodes: inout [RouteNode],
        from parent: Int,
        to segment: RouteNode,
        of pattern: String
    ) throws(RouteTableError) -> Int {
        var child = nodes[parent].firstChild
        while child != noChild {
            guard nodes[child].isCapture == segment.isCapture else { throw .ambiguous(pattern) }
            if segment.isCapture || nodes[child].literal == segment.literal {
                return child
            }
            child = nodes[child].nextSibling
        }
        var added = segment
        added.nextSibling = nodes[parent].firstChild
        nodes[parent].firstChild = nodes.count
        nodes.append(added)
        return nodes.count - 1
    }

    private static func segments(of pattern: String) throws(RouteTableError) -> [RouteNode] {
        let bytes = Array(pattern.utf8)
        let isPlain = bytes.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "%") }
        guard isPlain, bytes.first == UInt8(ascii: "/") else { throw .badPattern(pattern) }
        if bytes.count == 1 { return [] }
        var result: [RouteNode] = []
        for part in bytes.dropFirst().split(
            separator: UInt8(ascii: "/"),
            omittingEmptySubsequences: false
        ) {
            let opens = part.first == UInt8(ascii: "{")
            let closes = part.last == UInt8(ascii: "}")
            let braces = part.filter { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "}") }.count
            guard !part.isEmpty, opens == closes, braces == (opens ? 2 : 0) else {
                throw .badPattern(pattern)
            }
            result.append(RouteNode(literal: opens ? [] : Array(part), isCapture: opens))
        }
        return result
    }

    private func allowedMethods() -> String {
        var names: [String] = []
        for method in HTTPMethod.allCases where method != .options && method != .other {
            if route(for: method) >= 0 {
                names.append("\(method.name)")
            }
        }
        if !names.isEmpty {
            names.append("OPTIONS")
        }
        return names.joined(separator: ", ")
    }
}
