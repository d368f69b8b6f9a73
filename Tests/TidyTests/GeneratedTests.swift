import Foundation
import Testing

@Suite("Generated parts of documents")
struct GeneratedTests {
    /// With `LATCHKEY_WRITE_DOCS` in the environment, as in `make docs`, the parts are written.
    @Test(arguments: Set(Generated.all.map(\.path)).sorted())
    func `say what the code says`(path: String) throws {
        let tree = try Tree.ofThisPackage.get()
        let file = try #require(tree.file(path))
        let written = try Generated.all.filter { $0.path == path }.reduce(file) { file, part in
            try #require(part.applied(to: file, in: tree), "no lines around \(part.opening)")
        }
        if ProcessInfo.processInfo.environment["LATCHKEY_WRITE_DOCS"] != nil {
            try Data(written.text.utf8).write(to: Tree.top.appending(path: path))
        } else if written.text != file.text {
            Issue.record("\(path) is stale: run `make docs`")
        }
    }

    @Test func `a stale part is noticed`() {
        let part = Generated(path: "a.md", opening: "<!-- a -->", closing: "<!-- b -->") { _ in
            ["new"]
        }
        let tree = Tree(["a.md": "One.\n<!-- a -->\nold\nolder\n<!-- b -->\nTwo.\n"])
        let written = part.applied(to: tree.files[0], in: tree)
        #expect(written?.text == "One.\n<!-- a -->\nnew\n<!-- b -->\nTwo.\n")
        #expect(part.applied(to: SourceFile(path: "a.md", text: "One.\n"), in: tree) == nil)
    }
}
