/// A plot of a figure against a count, one line for each strategy, with its name at its end.
struct LinePlot {
    struct Point {
        var x: Double
        var y: Double
        /// The interval, drawn as a bar.
        var low: Double
        var high: Double
        /// What a pointer shows.
        var title: String
    }

    struct Series {
        var name: String
        var mark: Mark
        var points: [Point]
        /// Drawn strong; the others step back.
        var isLeading: Bool
    }

    var id: String
    var title: String
    var description: String
    var xName: String
    var yName: String
    var yText: (Double) -> String
    var series: [Series]

    private static let width = 460.0
    private static let labelWidth = 150.0
    private static let labelHeight = 13.0
    private static let left = 46.0
    private static let top = 24.0

    private var bottom: Double {
        max(300, Self.top + Self.labelHeight * Double(series.count + 1))
    }

    private var right: Double { Self.width - Self.labelWidth }

    var svg: String {
        let steps = Set(series.flatMap { $0.points.map(\.x) }).sorted()
        let x = Axis(steps: steps, from: Self.left + 8, to: right)
        let figures = series.flatMap { $0.points.flatMap { [$0.low, $0.y, $0.high] } }
        let y = Axis(figures, from: bottom, to: Self.top)
        let height = Markup.at(bottom + 38)
        let scale = y.isLogarithmic ? " (logarithmic)" : ""
        return """
            <svg viewBox="0 0 \(Markup.at(Self.width)) \(height)" role="img" \
            aria-labelledby="\(id)-t \(id)-d">
            <title id="\(id)-t">\(Markup.escape(title))</title>
            <desc id="\(id)-d">\(Markup.escape(description))</desc>
            <text class="axis" x="2" y="12">\(Markup.escape(yName + scale))</text>
            \(grid(x, y, steps))\
            \(series.filter { !$0.isLeading }.map { line($0, x, y) }.joined())\
            \(series.filter(\.isLeading).map { line($0, x, y) }.joined())\
            \(labels(y))</svg>
            """
    }

    private func grid(_ x: Axis, _ y: Axis, _ steps: [Double]) -> String {
        var text = ""
        for value in y.ticks(5) {
            let place = Markup.at(y.place(value))
            text += "<path class=\"grid\" d=\"M\(Markup.at(Self.left)),\(place)"
            text += "H\(Markup.at(right))\"/>"
            text += "<text class=\"tick end\" x=\"\(Markup.at(Self.left - 4))\" y=\"\(place)\" "
            text += "dy=\"4\">\(FigureText.tick(yText(value)))</text>\n"
        }
        for value in steps {
            let place = Markup.at(x.place(value))
            text += "<text class=\"tick middle\" x=\"\(place)\" y=\"\(Markup.at(bottom + 16))\">"
            text += "\(shortText(value))</text>\n"
        }
        let middle = Markup.at((Self.left + right) / 2)
        text += "<text class=\"axis middle\" x=\"\(middle)\" y=\"\(Markup.at(bottom + 32))\">"
        return text + "\(Markup.escape(xName))</text>\n"
    }

    private func line(_ series: Series, _ x: Axis, _ y: Axis) -> String {
        let points = series.points.sorted { $0.x < $1.x }
        var path = points.map { "\(Markup.at(x.place($0.x))),\(Markup.at(y.place($0.y)))" }
        var dashes = series.mark.isDashed ? " dashed" : ""
        if let only = points.first, points.count == 1 {
            // What was measured at one place is a line to compare the others with.
            path.append("\(Markup.at(right)),\(Markup.at(y.place(only.y)))")
            dashes = " dotted"
        }
        var text = "<g class=\"\(series.mark.colorClass)\(series.isLeading ? " leading" : "")\">"
        text += "<path class=\"line\(dashes)\" d=\"M\(path.joined(separator: "L"))\"/>"
        for point in points {
            let place = x.place(point.x)
            text += "<g><title>\(Markup.escape(point.title))</title>"
            text += "<path class=\"bar\" d=\"M\(Markup.at(place)),\(Markup.at(y.place(point.low)))"
            text += "V\(Markup.at(y.place(point.high)))\"/>"
            text += series.mark.shape(place, y.place(point.y), size: series.isLeading ? 4.5 : 3.5)
            text += "</g>"
        }
        return text + "</g>\n"
    }

    /// The names, moved apart so that none covers another, each led to by a thin line.
    private func labels(_ y: Axis) -> String {
        var ends = series.compactMap { series in
            series.points.max { $0.x < $1.x }.map { (series, y.place($0.y)) }
        }.sorted { $0.1 < $1.1 }
        let wanted = ends.map(\.1)
        for index in ends.indices.dropFirst() {
            ends[index].1 = max(ends[index].1, ends[index - 1].1 + Self.labelHeight)
        }
        var limit = bottom
        for index in ends.indices.reversed() {
            ends[index].1 = min(ends[index].1, limit)
            limit = ends[index].1 - Self.labelHeight
        }
        return zip(ends, wanted).map { end, from in
            let (series, place) = end
            let leading = series.isLeading ? " leading" : ""
            return "<g class=\"\(series.mark.colorClass)\(leading)\"><path class=\"lead\" "
                + "d=\"M\(Markup.at(right + 6)),\(Markup.at(from))"
                + "l10,\(Markup.at(place - from))\"/>"
                + series.mark.shape(right + 22, place, size: 3.5)
                + "<text class=\"name\" x=\"\(Markup.at(right + 30))\" y=\"\(Markup.at(place))\" "
                + "dy=\"4\">\(Markup.escape(series.name))</text></g>\n"
        }.joined()
    }
}
