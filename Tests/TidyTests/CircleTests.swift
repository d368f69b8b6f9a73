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
            Rule.circleFindings(tree).map(\.message) == [
                "8 files use each other, as A1+More.swift uses A6 of A6.swift, "
                    + "A6.swift uses More of A1+More.swift"
            ]
        )
    }
}
