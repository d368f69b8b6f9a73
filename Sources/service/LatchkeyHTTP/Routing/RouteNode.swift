/// One segment of the patterns of a router, and the routes that end there.
///
/// Plain values only, so that a walk over nodes counts no references: the literals of all nodes are
/// in one array, and the `Allow` texts are in another.
struct RouteNode: Sendable {
    static let noChild = -1

    /// The place of the segment's bytes among the literals of the tree.
    let literalStart: Int
    let literalCount: Int
    let isCapture: Bool
    var firstChild = RouteNode.noChild
    var nextSibling = RouteNode.noChild
    var hasRoutes = false
    /// By the raw value of the method; negative if there is no route.
    private var routes: InlineArray<8, Int16> = .init(repeating: -1)

    init(literalStart: Int, literalCount: Int, isCapture: Bool) {
        self.literalStart = literalStart
        self.literalCount = literalCount
        self.isCapture = isCapture
    }

    func route(for method: HTTPMethod) -> Int {
        let asked = method == .head ? HTTPMethod.get : method
        return Int(routes[Int(asked.rawValue)])
    }

    mutating func setRoute(_ route: Int, for method: HTTPMethod) {
        routes[Int(method.rawValue)] = Int16(route)
        hasRoutes = true
    }

    /// The methods of the routes that end here, for the `Allow` field.
    var allow: String { RouteNode.allow { route(for: $0) >= 0 } }

    static func allow(_ isRouted: (HTTPMethod) -> Bool) -> String {
        var names: [String] = []
        for method in HTTPMethod.allCases where method != .options && method != .other {
            if isRouted(method) {
                names.append("\(method.name)")
            }
        }
        return (names + ["OPTIONS"]).joined(separator: ", ")
    }
}
