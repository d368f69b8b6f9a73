/// A plot with a row for each strategy and one or more figures on a common axis.
struct RowPlot {
    struct Row {
        var name: String
        var mark: Mark
        /// One for each kind; `nil` where it was not measured.
        var values: [Double?]
        var isLeading: Bool
    }

    var id: String
    var title: String
    var description: String
    var xName: String
    var xText: (Double) -> String
    /// A value of a kind, where it is written out.
    var valueText: (_ kind: String, Double) -> String
    /// What the values of a row are: drawn as signs of their own, explained above the plot.
    var kinds: [String]
    var rows: [Row]
    /// Whether the axis is a share, from 0 to 1.
    var isShare = false

    private static let width = 460.0
    private static let left = 140.0
    private static let right = 400.0
    private static let rowHeight = 19.0

    /// Below the legend, if there is one.
    private var top: Double { kinds.count > 1 ? 26 : 4 }
    private var bottom: Double { top + Self.rowHeight * Double(rows.count) }

    var svg: String {
        let values = rows.flatMap { $0.values.compactMap(\.self) }
        let axis =
            isShare
            ? Axis(shareFrom: Self.left, to: Self.right)
            : Axis(values, from: Self.left, to: Self.right)
        let scale = axis.isLogarithmic ? " (logarithmic)" : ""
        return """
            <svg viewBox="0 0 \(Markup.at(Self.width)) \(Markup.at(bottom + 38))" role="img" \
            aria-labelledby="\(id)-t \(id)-d">
            <title id="\(id)-t">\(Markup.escape(title))</title>
            <desc id="\(id)-d">\(Markup.escape(description))</desc>
            \(legend)\(grid(axis))\
            <text class="axis middle" x="\(Markup.at((Self.left + Self.right) / 2))" \
            y="\(Markup.at(bottom + 32))">\(Markup.escape(xName + scale))</text>
            \(rows.enumerated().map { row($1, at: $0, axis) }.joined())</svg>
            """
    }

    private var legend: String {
        guard kinds.count > 1 else { return "" }
        var x = Self.left
        var text = "<g class=\"legend\">"
        for (index, kind) in kinds.enumerated() {
            text += sign(index, x, 10)
            text += "<text class=\"tick\" x=\"\(Markup.at(x + 8))\" y=\"14\">"
            text += "\(Markup.escape(kind))</text>"
            x += 24 + 7 * Double(kind.count)
        }
        return text + "</g>\n"
    }

    private func grid(_ axis: Axis) -> String {
        axis.ticks(4).map { value in
            let place = Markup.at(axis.place(value))
            return "<path class=\"grid\" d=\"M\(place),\(Markup.at(top))"
                + "V\(Markup.at(bottom))\"/><text class=\"tick middle\" x=\"\(place)\" "
                + "y=\"\(Markup.at(bottom + 16))\">\(FigureText.tick(xText(value)))</text>\n"
        }.joined()
    }

    private func row(_ row: Row, at index: Int, _ axis: Axis) -> String {
        let y = top + Self.rowHeight * (Double(index) + 0.5)
        let values = row.values.compactMap(\.self)
        let text = zip(kinds, row.values).map { kind, value in
            (kinds.count > 1 ? kind + " " : "")
                + (value.map { valueText(kind, $0) } ?? "not measured")
        }.joined(separator: ", ")
        var svg = "<g class=\"\(row.mark.colorClass)\(row.isLeading ? " leading" : "")\">"
        svg += "<title>\(Markup.escape("\(row.name): \(text)"))</title>"
        svg += "<text class=\"name end\" x=\"\(Markup.at(Self.left - 10))\" "
        svg += "y=\"\(Markup.at(y))\" dy=\"4\">\(Markup.escape(row.name))</text>"
        if let last = values.max() {
            let first = kinds.count > 1 ? values.min() ?? last : nil
            let from = first.map(axis.place) ?? Self.left
            let kind = kinds.count > 1 || isShare ? "span" : "thread"
            svg += "<path class=\"\(kind)\" d=\"M\(Markup.at(from)),\(Markup.at(y))"
            svg += "H\(Markup.at(axis.place(last)))\"/>"
            for (index, value) in row.values.enumerated() {
                svg += value.map { sign(index, axis.place($0), y) } ?? ""
            }
            svg += "<text class=\"tick\" x=\"\(Markup.at(axis.place(last) + 7))\" "
            svg += "y=\"\(Markup.at(y))\" dy=\"4\">\(xText(last))</text>"
        } else {
            svg += "<text class=\"tick\" x=\"\(Markup.at(Self.left + 4))\" "
            svg += "y=\"\(Markup.at(y))\" dy=\"4\">not measured</text>"
        }
        return svg + "</g>\n"
    }

    /// The signs of the kinds in a row differ by shape: they are in one colour.
    private func sign(_ kind: Int, _ x: Double, _ y: Double) -> String {
        Mark(index: [0, 3, 1, 2][kind % 4]).shape(x, y, size: 3.5)
    }
}
