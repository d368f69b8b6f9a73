import Testing

@Suite("Circles of uses")
struct CircleTests {
    private static let package = ("Package.swift", ".target(name: \"T\"),\n")

    /// Files of which each uses the next, and the last the first.
    private static func ring(of count: Int) -> Tree {
        let files = (1...count).map { number in
            ("Sources/T/A\(number).swift", "struct A\(number) { let a: A\(number % count + 1)? }\n")
        }
        return Tree([package] + files)
    }

    @Test func `a finding names a shortest way around, and what only uses it is not in it`() {
        let ring = Self.ring(of: 7).files.filter { !$0.path.hasSuffix("A6.swift") }
        let tree = Tree(
            ring.map { ($0.path, $0.text) } + [
                (
                    "Sources/T/A1+More.swift",
                    "// A5 is a comment.\nenum More { let a: A6, b: A5 }\n"
                ),
                ("Sources/T/A6+More.swift", "extension A6 { var more: More { \"A2\" } }\n"),
                ("Sources/T/A5+More.swift", "extension A5 { var more: More? { nil } }\n"),
                ("Sources/T/A6.swift", "struct A6 { let a: A7?, b: More }\n"),
            ]
        )
        #expect(
            Rule.circleFindings(tree, bounds: [:]).map(\.message) == [
                "8 files use each other, as A1+More.swift uses A6 of A6.swift, "
                    + "A6.swift uses More of A1+More.swift"
            ]
        )
    }

    @Test func `a bound holds, and is no higher than what is there`() {
        let tree = Self.ring(of: 8)
        #expect(Rule.circleFindings(tree, bounds: ["T": CircleBound(files: 8)]).isEmpty)
        #expect(Rule.circleFindings(tree, bounds: ["T": CircleBound(files: 7)]).count == 1)
        #expect(Rule.circleFindings(tree, bounds: ["T": CircleBound(files: 9)]).count == 1)
        #expect(
            Rule.circleFindings(tree, bounds: ["T": CircleBound(files: 8, folders: 2)]).count == 1
        )
        #expect(
            Rule.circleFindings(Self.ring(of: 2), bounds: ["T": CircleBound(files: 7)]).count == 1
        )
    }

    @Test func `each bound is one of a target`() throws {
        let targets = DeclaredTarget.all(in: try Tree.ofThisPackage.get()).map(\.name)
        #expect(circleBounds.keys.filter { !targets.contains($0) }.sorted() == [])
    }
}
