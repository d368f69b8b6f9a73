internal import Glibc
internal import LatchkeySettings

/// The file with a user's settings of the client: `~/.config/latchkey`, or `latchkey` in the folder
/// that XDG_CONFIG_HOME names.
///
/// It has lines such as `url = https://latchkey.example`, and comments that begin with `#`. Names
/// are those of the flags.
package struct ClientFile: Sendable, Equatable {
    /// By the names of the flags.
    package private(set) var values: [String: String] = [:]

    package init() {}

    /// Reads the file of the user, if there is one.
    package init(
        environment: (String) -> String?
    ) throws(ClientFailure) {
        guard let path = Self.path(environment: environment), let file = TextFile(path) else {
            self.init()
            return
        }
        try self.init(lines: file.lines, path: path)
        guard values["token"] == nil || !file.isOpenToOthers else {
            throw ClientFailure(
                .usage,
                "\(path) has a token, and other users can read it: chmod 600 \(path)"
            )
        }
    }

    /// The path of the file; nil without a home.
    package static func path(environment: (String) -> String?) -> String? {
        func folder(_ name: String) -> String? {
            // A relative one is to be ignored (XDG Base Directory Specification).
            environment(name).flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        return (folder("XDG_CONFIG_HOME") ?? folder("HOME").map { $0 + "/.config" })
            .map { $0 + "/latchkey" }
    }

    package init(lines: [String], path: String) throws(ClientFailure) {
        for (index, line) in lines.enumerated() {
            let text = TextFile.trimmed(line[...])
            guard !text.isEmpty, !text.hasPrefix("#") else { continue }
            func failure(_ message: String) -> ClientFailure {
                ClientFailure(.usage, "\(path), line \(index + 1): \(message)")
            }
            guard let sign = text.firstIndex(of: "=") else {
                throw failure("a line is a name, = and a value.")
            }
            let name = TextFile.trimmed(text[..<sign])
            let value = TextFile.trimmed(text[text.index(after: sign)...])
            let names = ClientSettings.settings.map(\.name)
            guard let setting = ClientSettings.settings.first(where: { $0.name == name }) else {
                let suggestion = Suggestion.sentence(for: name, among: names)
                throw failure("there is no setting '\(name)'.\(suggestion)")
            }
            guard values[name] == nil else { throw failure("\(name) is given twice.") }
            do {
                try setting.values.check(value)
            } catch {
                throw failure("\(name) \(error.message)")
            }
            values[name] = value
        }
        guard values["token"] == nil || values["token-from"] == nil else {
            throw ClientFailure(.usage, "\(path): give token or token-from, not both.")
        }
    }
}
