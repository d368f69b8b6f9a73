/// How a strategy is drawn: the same on every plot of a page.
///
/// Colour, shape and dashes differ, so that no two strategies are told apart by colour alone.
struct Mark {
    /// `PageStyle` has a colour for each.
    static let colorCount = 7

    /// The corners of the shapes, around 0 and about 1 from it.
    ///
    /// The first is a circle.
    private static let shapes: [[(x: Double, y: Double)]] = [
        [],
        [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        [(0, -1.2), (1.2, 0.9), (-1.2, 0.9)],
        [(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)],
        [(0, 1.2), (1.2, -0.9), (-1.2, -0.9)],
        [
            (-0.3, -1.2), (0.3, -1.2), (0.3, -0.3), (1.2, -0.3), (1.2, 0.3), (0.3, 0.3), (0.3, 1.2),
            (-0.3, 1.2), (-0.3, 0.3), (-1.2, 0.3), (-1.2, -0.3), (-0.3, -0.3),
        ],
        [(-1, -1), (1, -1), (-1, 1), (1, 1)],
    ]

    let index: Int

    var colorClass: String { "c\(index % Self.colorCount)" }
    var isDashed: Bool { index / Self.colorCount % 2 == 1 }

    /// The shape around a point.
    func shape(_ x: Double, _ y: Double, size: Double = 4) -> String {
        let corners = Self.shapes[(index + index / Self.colorCount) % Self.shapes.count]
        guard !corners.isEmpty else {
            return
                "<circle cx=\"\(Markup.at(x))\" cy=\"\(Markup.at(y))\" r=\"\(Markup.at(size))\"/>"
        }
        let points = corners.map {
            "\(Markup.at(x + $0.x * size)),\(Markup.at(y + $0.y * size))"
        }
        return "<polygon points=\"\(points.joined(separator: " "))\"/>"
    }
}
