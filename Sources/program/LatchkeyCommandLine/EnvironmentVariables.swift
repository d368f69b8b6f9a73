internal import LatchkeySettings

/// The environment variables of the program's name: those of its flags, and others.
package enum EnvironmentVariables {
    private static let prefix = "LATCHKEY_"

    /// A variable that `latchkey lock` and `latchkey elect` give their command.
    package static let lockName = "LATCHKEY_LOCK_NAME"
    package static let fencingToken = "LATCHKEY_FENCING_TOKEN"
    private static let ofLocks = [lockName, fencingToken]

    /// Whether Kubernetes sets the variable, in every pod, for a service that is called `latchkey`
    /// or `latchkey-…`: `LATCHKEY_PORT=tcp://10.0.0.1:8080` and others, as links between containers
    /// of Docker did.
    ///
    /// None of them is meant for the program, even if it has a flag of that name.
    package static func isServiceLink(_ name: String, _ value: String) -> Bool {
        let parts = name.split(separator: "_")
        let protocols = ["TCP", "UDP", "SCTP"]
        for (index, part) in parts.enumerated().dropFirst() {
            let rest = parts[(index + 1)...]
            if part == "SERVICE", rest == ["HOST"] || rest.first == "PORT" {
                return true
            }
            if part == "PORT", let number = rest.first, number.allSatisfy(\.isNumber),
                rest.dropFirst().first.map({ protocols.contains(String($0)) }) == true
            {
                return true
            }
        }
        return parts.last == "PORT"
            && protocols.contains { value.hasPrefix($0.lowercased() + "://") }
    }

    /// A sentence for each variable that belongs to no flag, with the one that was probably meant.
    ///
    /// - Parameters:
    ///   - environment: All variables.
    ///   - flags: The flags of all commands: they may share an environment.
    ///   - others: Further known variables.
    /// - Returns: The sentences, by the names of the variables.
    package static func unknown(
        in environment: [String: String],
        _ flags: [Flag],
        others: [String] = []
    ) -> [String] {
        let known = Set(flags.map(\.environmentName) + others + ofLocks)
        // Without the prefix, which would make any two names alike.
        let names = flags.map(\.environmentName).map { String($0.dropFirst(prefix.count)) }.sorted()
        return environment.sorted { $0.key < $1.key }.compactMap { name, value in
            guard name.hasPrefix(prefix), !known.contains(name), !isServiceLink(name, value) else {
                return nil
            }
            let nearest = Suggestion.nearest(to: String(name.dropFirst(prefix.count)), among: names)
            let suggestion = nearest.map { " Did you mean '\(prefix)\($0)'?" } ?? ""
            return "\(name) belongs to no flag.\(suggestion)"
        }
    }
}
