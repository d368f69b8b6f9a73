/// How a strategy is drawn: the same on every plot of a page.
///
/// Colour, shape and dashes differ, so that no two strategies are told apart by colour alone.
struct Mark {
    /// `PageStyle` has a colour for each.
    static let colorCount = 7
    private static let shapeCount = 7

    let index: Int

    var colorClass: String { "c\(index % Self.colorCount)" }
    var isDashed: Bool { index / Self.colorCount % 2 == 1 }

    /// The shape around a point.
    func shape(_ x: Double, _ y: Double, size: Double = 4) -> String {
        let s = size
        func path(_ steps: String) -> String {
            "<path d=\"M\(Markup.at(x)),\(Markup.at(y))\(steps)\"/>"
        }
        switch (index + index / Self.colorCount) % Self.shapeCount {
        case 0:
            return "<circle cx=\"\(Markup.at(x))\" cy=\"\(Markup.at(y))\" r=\"\(Markup.at(s))\"/>"
        case 1: return path("m\(-s),\(-s)h\(2 * s)v\(2 * s)h\(-2 * s)z")
        case 2: return path("m0,\(-s * 1.2)l\(s * 1.2),\(s * 2.1)h\(-2.4 * s)z")
        case 3:
            return path(
                "m0,\(-s * 1.3)l\(s * 1.3),\(s * 1.3)l\(-s * 1.3),\(s * 1.3)l\(-s * 1.3),\(-s * 1.3)z"
            )
        case 4: return path("m0,\(s * 1.2)l\(s * 1.2),\(-s * 2.1)h\(-2.4 * s)z")
        case 5:
            return path(
                "m\(-s),-1h\(s - 1)v\(1 - s)h2v\(s - 1)h\(s - 1)v2h\(1 - s)v\(s - 1)h-2v\(1 - s)h\(1 - s)z"
            )
        default: return path("m\(-s),\(-s)l\(2 * s),0l\(-2 * s),\(2 * s)l\(2 * s),0z")
        }
    }
}
