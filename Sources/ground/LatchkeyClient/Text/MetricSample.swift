/// A line of the text of `/metrics`, such as `name{strategy="lock",mode="read"} 3`.
package struct MetricSample: Sendable {
    package let name: Substring
    package let labels: [String: String]
    package let value: Double

    /// The samples of a text, without its comments.
    package static func all(in text: String) -> [MetricSample] {
        text.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap { MetricSample($0) }
    }

    private init?(_ line: Substring) {
        guard let space = line.lastIndex(of: " "),
            let value = Double(line[line.index(after: space)...])
        else { return nil }
        self.value = value
        let series = line[..<space]
        name = series.prefix { $0 != "{" }
        // The values that are read have no quotes: name{a= x ,b= y }
        let parts = series.dropFirst(name.count + 1).split(
            separator: "\"",
            omittingEmptySubsequences: false
        )
        var labels: [String: String] = [:]
        for index in stride(from: 0, to: parts.count - 1, by: 2) {
            let label = parts[index].drop { $0 == "," }.dropLast()
            labels[String(label)] = String(parts[index + 1])
        }
        self.labels = labels
    }
}
