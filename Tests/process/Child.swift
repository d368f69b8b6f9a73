import Foundation
import LatchkeyTestSupport

/// A child process of a program under test, as `/proc` shows it.
struct Child: Sendable {
    let identifier: Int32
    let name: String
    private let parent: Int32
    private let state: Character

    /// Reads `identifier (name) state parent …`.
    ///
    /// A name can contain parentheses and spaces.
    private init?(_ identifier: Int32) {
        guard
            let text = try? String(contentsOfFile: "/proc/\(identifier)/stat", encoding: .utf8),
            let opening = text.firstIndex(of: "("), let closing = text.lastIndex(of: ")")
        else { return nil }
        let fields = text[closing...].dropFirst().split(separator: " ")
        guard fields.count > 1, let state = fields[0].first, let parent = Int32(fields[1]) else {
            return nil
        }
        self.identifier = identifier
        self.state = state
        self.parent = parent
        name = String(text[opening..<closing].dropFirst())
    }

    static func all(of parent: Int32) throws -> [Child] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc")
            .compactMap { Int32($0) }.compactMap { Child($0) }
            .filter { $0.parent == parent }
    }

    /// Waits until the process has ended, and ends it if it goes on.
    ///
    /// A zombie has ended, too.
    func awaitEnd() throws {
        do {
            try eventually("\(name) ends") {
                guard let now = Child(identifier) else { return true }
                return now.name != name || "ZX".contains(now.state)
            }
        } catch {
            kill(identifier, SIGKILL)
            throw error
        }
    }
}

extension Program {
    /// Waits until the program has children with exactly these names, and returns them.
    func awaitChildren(_ names: [String]) throws -> [Child] {
        var children: [Child] = []
        try eventually("the program has the children \(names)") {
            children = (try? Child.all(of: processIdentifier)) ?? []
            return children.map(\.name).sorted() == names.sorted()
        }
        return children
    }
}
