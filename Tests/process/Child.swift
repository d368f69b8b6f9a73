import Foundation

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

    /// Waits until the process has ended; false if that takes longer.
    ///
    /// A zombie has ended, too.
    func ends(withinSeconds seconds: Int) -> Bool {
        eventually(seconds: seconds) {
            guard let now = Child(identifier) else { return true }
            return now.name != name || "ZX".contains(now.state) ? true : nil
        } ?? false
    }
}

extension Program {
    /// Waits until the program has children with exactly these names, and returns them.
    func awaitChildren(_ names: [String]) throws -> [Child] {
        let children = eventually(seconds: 60) {
            let children = (try? Child.all(of: processIdentifier)) ?? []
            return children.map(\.name).sorted() == names.sorted() ? children : nil
        }
        guard let children else {
            throw ProgramError(description: "the program does not have the children \(names)")
        }
        return children
    }
}

/// Polls until a value is there or the time is over.
private func eventually<Found>(seconds: Int, _ look: () -> Found?) -> Found? {
    let clock = ContinuousClock()
    let end = clock.now + .seconds(seconds)
    while clock.now < end {
        if let found = look() { return found }
        // Sleeps because a process that is not a child has no other sign to give.
        usleep(2_000)
    }
    return nil
}
