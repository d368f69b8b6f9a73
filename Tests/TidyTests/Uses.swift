/// Which parts of a target use which: its files, or its folders.
///
/// A Swift file uses the types whose names it has outside of comments and literals. Types at the
/// left margin count: one that is nested is reached through the outer one, so what follows a period
/// and what an indented line declares is none of them. Of C, a unit is a `.c` file with the header
/// of its name. It uses the functions that the `.c` file of another unit defines, and the types of
/// another unit's header. A header without a `.c` file is what all share, and no unit.
struct Uses {
    /// For each part, those that it uses, each with a name of theirs.
    private(set) var arrows: [String: [String: String]] = [:]

    init(of target: DeclaredTarget, in tree: Tree) {
        let files = tree.files.filter(target.contains)
        let units = Set(files.filter { $0.path.hasSuffix(".c") }.map { $0.unit(in: target) })
        var places: [String: Set<String>] = [:]
        var used: [String: Set<String>] = [:]
        for file in files {
            let part = file.unit(in: target)
            let isSwift = PathSet.isSwift(file.path)
            guard isSwift || units.contains(part) else { continue }
            let names = isSwift ? file.swiftTypes : file.cNames
            for name in names { places[name, default: []].insert(part) }
            used[part, default: []].formUnion(file.words(capitalized: isSwift))
        }
        for (part, names) in used {
            let known = names.filter { places[$0]?.contains(part) == false }.sorted()
            let pairs = known.flatMap { name in places[name, default: []].map { ($0, name) } }
            arrows[part] = Dictionary(pairs) { first, _ in first }
        }
    }

    /// The same between folders.
    ///
    /// A file outside all folders is in ".".
    init(betweenFoldersOf files: Uses) {
        for (file, used) in files.arrows {
            let folder = Self.folder(of: file)
            for (other, name) in used where Self.folder(of: other) != folder {
                let name = min(name, arrows[folder]?[Self.folder(of: other)] ?? name)
                arrows[folder, default: [:]][Self.folder(of: other)] = name
            }
        }
    }

    private static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }

    /// The sets of parts of which each reaches all others, the largest first (Tarjan).
    var circles: [[String]] {
        var search = Search(arrows: arrows)
        for part in arrows.keys.sorted() where search.order[part] == nil { search.visit(part) }
        return search.circles.sorted { $0.count > $1.count }
    }

    private struct Search {
        let arrows: [String: [String: String]]
        var order: [String: Int] = [:]
        var lowest: [String: Int] = [:]
        var open: [String] = []
        var circles: [[String]] = []

        mutating func visit(_ part: String) {
            let number = order.count
            order[part] = number
            lowest[part] = number
            open.append(part)
            for next in arrows[part, default: [:]].keys {
                if order[next] == nil { visit(next) }
                // One that is in a circle already has no entry any more.
                lowest[part] = min(lowest[part] ?? number, lowest[next] ?? number)
            }
            guard lowest[part] == number, let first = open.lastIndex(of: part) else { return }
            let circle = open[first...]
            open.removeSubrange(first...)
            for other in circle { lowest[other] = nil }
            if circle.count > 1 { circles.append(circle.sorted()) }
        }
    }

    /// A shortest way around inside of a circle: "A uses b of B, B uses a of A".
    func way(around circle: [String]) -> String {
        let ways = circle.compactMap { way(backTo: $0, in: Set(circle)) }
        guard let shortest = ways.min(by: { $0.count < $1.count }) else { return "" }
        return zip(shortest, shortest.dropFirst()).map { part, next in
            "\(part) uses \(arrows[part]?[next] ?? "") of \(next)"
        }.joined(separator: ", ")
    }

    private func way(backTo start: String, in circle: Set<String>) -> [String]? {
        var ways = [[start]][...]
        var seen: Set<String> = []
        while let way = ways.popFirst() {
            for next in arrows[way.last ?? start, default: [:]].keys.sorted() {
                if next == start { return way + [start] }
                if circle.contains(next), seen.insert(next).inserted { ways.append(way + [next]) }
            }
        }
        return nil
    }
}

extension SourceFile {
    /// The path in the target; of C without the suffix.
    fileprivate func unit(in target: DeclaredTarget) -> String {
        String(path.dropFirst(target.folder.count + 1).dropLast(PathSet.isC(path) ? 2 : 0))
    }

    /// The keywords that declare a type.
    private static let keywords: Set<Substring> = [
        "struct", "class", "enum", "protocol", "actor", "typealias",
    ]
    private static let keywordBytes = Set(keywords.map { Array($0.utf8) })

    /// The types at the left margin that other files can name.
    fileprivate var swiftTypes: [String] {
        code.compactMap { line in
            guard let first = line.utf8.first, first != UInt8(ascii: " ") else { return nil }
            let words = line.split { !$0.isLetter && !$0.isNumber }
            guard let keyword = words.firstIndex(where: Self.keywords.contains),
                !words.contains("private"), !words.contains("fileprivate")
            else { return nil }
            return words.dropFirst(keyword + 1).first.map(String.init)
        }
    }

    /// The functions that a `.c` file defines for others; the types of a header.
    fileprivate var cNames: [String] {
        let isHeader = path.hasSuffix(".h")
        return code.compactMap { line in
            guard isHeader else { return line.hasPrefix("static") ? nil : Rule.function(line) }
            let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
            let keyword = words.firstIndex { $0 == "struct" || $0 == "enum" || $0 == "union" }
            guard let keyword, line.first != " ", line.hasSuffix("{") else { return nil }
            return words.dropFirst(keyword + 1).first.map(String.init)
        }
    }

    /// All words of the code, or those that begin with a capital letter and name no nested type.
    fileprivate func words(capitalized: Bool) -> Set<String> {
        var words: Set<String> = []
        for line in code {
            let isIndented = line.utf8.first == UInt8(ascii: " ")
            var word: [UInt8] = []
            var wordBefore: [UInt8] = []
            var periods = 0
            for byte in line.utf8 + [0] {
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                    word.append(byte)
                case _ where word.isEmpty:
                    periods = byte == UInt8(ascii: ".") ? periods + 1 : 0
                default:
                    // Two periods or more are an operator of a range.
                    let isNested =
                        periods == 1 || isIndented && Self.keywordBytes.contains(wordBefore)
                    if !capitalized || word[0] <= UInt8(ascii: "Z") && !isNested {
                        words.insert(String(decoding: word, as: UTF8.self))
                    }
                    swap(&word, &wordBefore)
                    word.removeAll(keepingCapacity: true)
                    periods = byte == UInt8(ascii: ".") ? 1 : 0
                }
            }
        }
        return words
    }
}
